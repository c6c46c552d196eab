package judge

import (
	"slices"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

func TestSameEnd(t *testing.T) {
	c, other := newCA(t), newCA(t)
	again := installed(other)
	again.Events[len(again.Events)-1].Write.Object.UID = "other"
	weaker := begin().writes("manager", "create", configured, nil, hook(c, with("failurePolicy", "Ignore")))
	for name, test := range map[string]struct {
		a, b *story
		want []history.Ref
	}{
		"other certificates and uids": {installed(c), again, nil},
		"another field":               {installed(c), weaker, []history.Ref{configured.Key()}},
		"an object that is missing":   {installed(c), begin(), []history.Ref{configured.Key()}},
		"deleted in both":             {installed(c).writes("admin", "delete", configured, hook(c), nil), begin(), nil},
		"another kind":                {begin().writes("admin", "create", secret, nil, history.Object{}), begin(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SameEnd(test.a.History, test.b.History, "ValidatingWebhookConfiguration"); !slices.Equal(got, test.want) {
				t.Errorf("different are %v, want %v", got, test.want)
			}
		})
	}
}

func TestGrowth(t *testing.T) {
	for name, test := range map[string]struct {
		a, b Cost
		fits bool
	}{
		"the same for each object":    {Cost{100, 1000}, Cost{200, 2000}, true},
		"a fifth more":                {Cost{100, 1000}, Cost{200, 2400}, true},
		"each object sees all others": {Cost{100, 1000}, Cost{200, 4000}, false},
		"in the other order":          {Cost{200, 4000}, Cost{100, 1000}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Growth(test.a, test.b); (err == nil) != test.fits {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestCostOf(t *testing.T) {
	s := installed(newCA(t)).readsLive("Pod")
	if got := CostOf(s.History, csv.Kind); got != (Cost{1, 2}) {
		t.Errorf("the cost is %+v", got)
	}
}
