package apiservers

import (
	"math"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRequests(t *testing.T) {
	for servers, test := range map[int]struct {
		requests int
		obstacle string
	}{
		0:  {0, "the number of API servers is not known"},
		1:  {1, ""},
		2:  {28, ""},
		3:  {49, ""},
		5:  {90, ""},
		20: {0, "it would take 418 requests"},
	} {
		requests, obstacle := Requests(servers)
		installtest.Same(t, "requests", test.requests, requests)
		if test.obstacle == "" != (obstacle == "") || !strings.Contains(obstacle, test.obstacle) {
			t.Errorf("%d API servers: obstacle %q, not %q", servers, obstacle, test.obstacle)
		}
		if n := float64(servers); requests > 1 && n*math.Pow(1-1/n, float64(requests)) > missProbability {
			t.Errorf("%d requests miss one of %d API servers more often", requests, servers)
		}
	}
}

func TestMissed(t *testing.T) {
	// sequence has an answer for each letter: the certificate, lower-case for the API server that answered first.
	sequence := func(letters string) []Answer {
		var all []Answer
		for i, letter := range strings.Split(letters, "") {
			all = append(all, Answer{strings.ToUpper(letter), i > 0 && letter == strings.ToLower(letter)})
		}
		return all
	}
	for name, test := range map[string]struct {
		servers int
		answers string
		missed  string
	}{
		"one":                                      {1, "a", ""},
		"own certificates, all":                    {3, "aBC", ""},
		"own certificates, one is missing":         {3, "aB" + strings.Repeat("aB", 23), "3 API servers have a Lease, and 2 of them answered 48 requests"},
		"the same certificate, in turn":            {2, strings.Repeat("aA", 14), ""},
		"the same certificate, at random":          {3, "a" + strings.Repeat("aAAAaA", 8), ""},
		"the same certificate, one answers":        {2, strings.Repeat("a", 28), "2 API servers have a Lease, and one of them answered 28 of 28 requests"},
		"the same certificate, one answers mostly": {2, strings.Repeat("a", 23) + "AAAAA", "one of them answered 23 of 28 requests"},
		"the same certificate, no sessions":        {2, "a" + strings.Repeat("A", 27), "continue no TLS session"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Missed(sequence(test.answers), test.servers)
			if (got == "") != (test.missed == "") || !strings.Contains(got, test.missed) {
				t.Errorf("missed: %q, not %q", got, test.missed)
			}
		})
	}
}

// Each API server is asked as soon as all certificates have answered.
func TestDistinct(t *testing.T) {
	answers := []Answer{{"a", false}, {"b", false}}
	for servers, want := range map[int]bool{1: true, 2: true, 3: false} {
		installtest.Same(t, "distinct", want, Distinct(answers, servers))
	}
}
