package calls

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestSince(t *testing.T) {
	earlier := Counters{Calls: 5, Answered: 3, Failed: map[string]float64{refused: 2}, Buckets: []Bucket{{1, 4}, {2, 5}}}
	for name, test := range map[string]struct {
		later, want Counters
		ok          bool
	}{
		"nothing": {earlier, Counters{Buckets: []Bucket{{1, 0}, {2, 0}}}, true},
		"more": {
			Counters{Calls: 9, Answered: 4, Failed: map[string]float64{refused: 3, passed: 2}, Buckets: []Bucket{{1, 6}, {2, 9}}},
			Counters{Calls: 4, Answered: 1, Failed: map[string]float64{refused: 1, passed: 2}, Buckets: []Bucket{{1, 2}, {2, 4}}}, true,
		},
		"fewer calls":             {Counters{Calls: 4, Answered: 3}, Counters{Calls: -1}, false},
		"fewer answered calls":    {Counters{Calls: 5, Answered: 2}, Counters{Answered: -1}, false},
		"fewer failed calls":      {Counters{Calls: 5, Answered: 3, Failed: map[string]float64{refused: 1}}, Counters{Failed: map[string]float64{refused: -1}}, false},
		"fewer calls of a bucket": {Counters{Calls: 5, Answered: 3, Buckets: []Bucket{{1, 3}}}, Counters{Buckets: []Bucket{{1, -1}}}, false},
		"other buckets":           {Counters{Calls: 5, Answered: 3, Buckets: []Bucket{{3, 7}}}, Counters{Buckets: []Bucket{{3, 7}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := test.later.since(earlier)
			installtest.Same(t, "ok", test.ok, ok)
			installtest.Same(t, "what was counted", test.want, got)
		})
	}
}
