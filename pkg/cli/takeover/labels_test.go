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

// Before the manager starts, run labels what has the form of olm-operator, whatever label it has. It keeps the label of
// what the manager has changed: the label given-back would say that olm-operator accepts it.
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
		"converged":                             {0, converged(""), nil},
		"converging":                            {0, csvNamed("a", Converge, FormAdopted), nil},
		"adopted":                               {0, csvNamed("a", Held, FormAdopted), nil},
		"the manager has begun to give it back": {0, csvNamed("a", GiveBack, FormAdopted), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(test.olm, 0, test.csv)
			var want []string
			want = append(want, test.want...)
			got := s.orderAll()
			installtest.Same(t, "writes", want, texts(got.Writes))
		})
	}
}

// What the manager converged is given back, although the manager stopped and run was interrupted, or has the label
// given-back without a report of the return.
func TestUndoGivesConvergedBack(t *testing.T) {
	s := snapshot(0, 0, converged(""))
	for n := range 3 {
		s := interrupted(snapshot(0, 0, converged("")), Run(someOptions), n, true)
		installtest.Contains(t, texts(Predict(s, Undo(someOptions)))[0]+texts(Predict(s, Undo(someOptions)))[1], "shop/a=give-back")
	}
	s.CSVs[0].Order = GivenBack
	installtest.Same(t, "the first write", []string{"label ClusterServiceVersion shop/a=give-back"}, texts(Undo(someOptions)(s, time.Time{}).Writes))
	s = snapshot(0, 0, csvNamed("a", GivenBack, ""))
	installtest.Same(t, "the first write if it was never adopted", []string{"scale Deployment olm-operator/olm-operator=1"}, texts(Undo(someOptions)(s, time.Time{}).Writes))
}

// The manager ignores a value that it does not know.
func TestOrderOf(t *testing.T) {
	for value, want := range map[string]Order{"": "", "held": Held, "converge": Converge, "give-back": GiveBack, "given-back": GivenBack, "later": ""} {
		installtest.Same(t, value, want, OrderOf(&metav1.ObjectMeta{Labels: map[string]string{wellknown.LabelTakeover: value}}))
	}
}
