package takeover

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func converged(o Order) CSV {
	c := csvNamed("a", o, "")
	c.HasRollout = true
	return c
}

// withoutRollout is a CSV without webhooks that the manager installed, or converged.
func withoutRollout(o Order) CSV {
	c := csvNamed("a", o, "")
	c.InManagersForm = true
	return c
}

// Before the manager starts, run labels what it would begin with. It keeps what has the manager's own form, and a label
// that alone shows that the manager has begun.
func TestLabelsBeforeTheManagerStarts(t *testing.T) {
	label := []string{"label ClusterServiceVersion shop/a=given-back"}
	for name, test := range map[string]struct {
		olm  int32
		csv  CSV
		want []string
	}{
		"no label":                              {1, csvNamed("a", "", ""), label},
		"held, left over":                       {1, csvNamed("a", Held, FormAdopted), label},
		"converge, left over":                   {1, csvNamed("a", Converge, ""), label},
		"given-back":                            {1, csvNamed("a", GivenBack, ""), nil},
		"olm-operator stopped, no label":        {0, csvNamed("a", "", ""), label},
		"olm-operator stopped, held, left over": {0, csvNamed("a", Held, ""), label},
		"olm-operator stopped, after a return":  {0, csvNamed("a", "", FormGivenBack), label},
		"olm-operator stopped, in a return":     {0, csvNamed("a", GiveBack, FormGivenBack), label},
		"converging":                            {0, csvNamed("a", Converge, FormAdopted), label},
		"adopted":                               {0, csvNamed("a", Held, FormAdopted), label},
		"the manager has begun to give it back": {0, csvNamed("a", GiveBack, FormAdopted), label},
		"converged":                             {0, converged(""), nil},
		"converged, without a WebhookRollout":   {0, withoutRollout(""), nil},
		"held after a return, and no report":    {0, csvNamed("a", Held, FormGivenBack), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(test.olm, 0, test.csv)
			var want []string
			want = append(want, test.want...)
			installtest.Same(t, "writes", want, texts(s.orderAll().Writes))
		})
	}
}

// What the manager changed is given back, although the manager stopped, run was interrupted, or the label is given-back.
func TestUndoGivesBackWhatIsChanged(t *testing.T) {
	const giveBack = "label ClusterServiceVersion shop/a=give-back"
	for name, test := range map[string]struct {
		csv     CSV
		returns bool
	}{
		"converged":                           {converged(""), true},
		"converged, labelled":                 {converged(GivenBack), true},
		"converged, without a WebhookRollout": {withoutRollout(""), true},
		"the same, labelled":                  {withoutRollout(GivenBack), true},
		"adopted, labelled":                   {csvNamed("a", GivenBack, FormAdopted), true},
		"held after a return, and no report":  {csvNamed("a", Held, FormGivenBack), true},
		"given back":                          {csvNamed("a", GivenBack, FormGivenBack), false},
		"never adopted":                       {csvNamed("a", GivenBack, ""), false},
		"never adopted, no label":             {csvNamed("a", "", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			for n := range 4 {
				s := interrupted(snapshot(0, 0, test.csv), func(s *Snapshot, now time.Time) Decision {
					if s.Manager.Runs() {
						return Decision{Done: true}
					}
					return Run(someOptions)(s, now)
				}, n, false)
				writes := texts(Predict(s, Undo(someOptions)))
				returned := installtest.Count(writes, func(w string) bool { return w == giveBack }) == 1
				installtest.Same(t, "it is given back", test.returns, returned)
			}
		})
	}
}

// At most the given number of CSVs with a wrong label are given back at the same time.
func TestConcurrencyOfWrongLabels(t *testing.T) {
	s := snapshot(0, 2, csvNamed("a", GivenBack, FormAdopted), csvNamed("b", GivenBack, FormAdopted), csvNamed("c", GivenBack, FormAdopted))
	for range 10 {
		for _, w := range Undo(someOptions)(s, time.Time{}).Writes {
			s.Apply(w)
		}
	}
	installtest.Same(t, "CSVs", 2, installtest.Count(s.CSVs, func(c CSV) bool { return c.Order == GiveBack }))
}

// The manager that gives one CSV back does not begin with another one that it has never changed.
func TestUndoProtectsWhatIsUnmanaged(t *testing.T) {
	unmanaged := csvNamed("b", "", "")
	installtest.Same(t, "the first writes", []string{"label ClusterServiceVersion shop/b=given-back", "scale Deployment manager/manager=2"},
		texts(Predict(snapshot(0, 0, converged(""), unmanaged), Undo(someOptions)))[:2])
}

// undo removes the label with any value.
func TestUndoRemovesUnknownLabels(t *testing.T) {
	c := csvNamed("a", "", "")
	c.UnknownLabel = true
	installtest.Same(t, "writes", []string{"label ClusterServiceVersion shop/a="}, texts(Predict(snapshot(1, 0, c), Undo(someOptions))))
}

// The manager ignores a value that it does not know.
func TestOrderOf(t *testing.T) {
	for value, want := range map[string]Order{"": "", "held": Held, "converge": Converge, "give-back": GiveBack, "given-back": GivenBack, "later": ""} {
		csv := &metav1.ObjectMeta{Labels: map[string]string{wellknown.LabelTakeover: value}}
		installtest.Same(t, value, want, OrderOf(csv))
		installtest.Same(t, value+" is unknown", want == "", HasUnknownLabel(csv))
	}
	installtest.Same(t, "no label is unknown", false, HasUnknownLabel(&metav1.ObjectMeta{}))
}
