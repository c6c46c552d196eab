package takeover

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// pendingCSV is one that catalog-operator created during the takeover, and that never succeeds.
func pendingCSV(name string) CSV {
	return CSV{NamespacedName: types.NamespacedName{Namespace: "tenant", Name: name}, Phase: "Pending", HasDeployments: true}
}

// CSVs that do not succeed keep neither run nor converge from the others.
func TestNewCSVsThatDoNotSucceed(t *testing.T) {
	failing := csvNamed("b", Held, "")
	failing.Phase = "Failed"
	for name, test := range map[string]struct {
		next NextFunc
		csvs []CSV
		want string
	}{
		"run":                  {Run(someOptions), []CSV{csvNamed("a", GivenBack, ""), pendingCSV("x"), pendingCSV("y")}, "label ClusterServiceVersion shop/a=held"},
		"run, held":            {Run(Options{Concurrency: 1}), []CSV{csvNamed("a", GivenBack, ""), failing}, "label ClusterServiceVersion shop/a=held"},
		"converge":             {NextConverge(someOptions), []CSV{csvNamed("a", Held, FormAdopted), pendingCSV("x")}, "label ClusterServiceVersion shop/a=converge"},
		"nothing else is left": {Run(someOptions), []CSV{csvNamed("a", Held, FormAdopted), pendingCSV("x")}, ""},
	} {
		d := test.next(snapshot(0, 2, test.csvs...), time.Time{})
		if test.want == "" {
			installtest.Same(t, name, true, d.Done)
			continue
		}
		installtest.Same(t, name, []string{test.want}, texts(d.Writes))
	}
	status := StatusOf(snapshot(0, 2, pendingCSV("x")))
	installtest.Same(t, "the state", Installing, status.CSVs[0].State)
	installtest.Same(t, "left to do", 1, len(status.Left))
}
