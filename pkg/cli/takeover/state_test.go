package takeover

import (
	"bytes"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func program(name string, replicas int32) *Program {
	p := &Program{NamespacedName: types.NamespacedName{Namespace: name, Name: name}, Replicas: replicas, Available: replicas, Args: []string{"run", "--with-olm"}}
	if replicas > 0 {
		p.Pods = []string{name + "-0"}
	}
	return p
}

func csvNamed(name string, ordered Order, form Form) CSV {
	return CSV{
		NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}, Phase: succeeded, Order: ordered,
		HasRollout: form != "", Report: Report{Form: form}, HasDeployments: true, Deployments: []Deployment{{Name: "server", Replicas: 1, Available: 1}},
	}
}

// snapshot has olm-operator and the manager with some replicas.
func snapshot(olm, manager int32, csvs ...CSV) *Snapshot {
	return &Snapshot{OLM: program("olm-operator", olm), OLMVersion: "v0.46.0", Manager: program("manager", manager), CSVs: csvs}
}

func TestStateOf(t *testing.T) {
	plain := CSV{HasRollout: true, Phase: succeeded}
	for name, test := range map[string]struct {
		olm, manager int32
		csv          CSV
		want         State
	}{
		"olm-operator runs":                       {1, 0, csvNamed("a", "", ""), WithOLM},
		"olm-operator runs, and an order exists":  {1, 0, csvNamed("a", GivenBack, ""), WithOLM},
		"olm-operator has stopped":                {0, 0, csvNamed("a", GivenBack, ""), Unmanaged},
		"no program, no order":                    {0, 0, csvNamed("a", "", ""), Unmanaged},
		"the manager has not begun":               {0, 1, csvNamed("a", GivenBack, ""), Unmanaged},
		"held":                                    {0, 1, csvNamed("a", Held, ""), Adopting},
		"held, with the report of another order":  {0, 1, csvNamed("a", Held, FormGivenBack), Adopting},
		"adopted":                                 {0, 1, csvNamed("a", Held, FormAdopted), Adopted},
		"adopted, and the manager stopped":        {0, 0, csvNamed("a", Held, FormAdopted), Adopted},
		"converging":                              {0, 1, csvNamed("a", Converge, FormAdopted), Converging},
		"converged":                               {0, 1, csvNamed("a", Converge, FormConverged), Converged},
		"converged by a rollout of the operator":  {0, 1, csvNamed("a", Held, FormConverged), Converged},
		"without an order":                        {0, 1, plain, Converged},
		"a new one that is not Succeeded":         {0, 1, CSV{HasRollout: true, Phase: "Pending"}, Installing},
		"a new one without webhooks that fails":   {0, 1, CSV{Phase: "Failed", HasDeployments: true}, Installing},
		"the manager converges it by itself":      {0, 1, csvNamed("a", "", "Converging"), Converging},
		"without Deployments":                     {0, 1, CSV{Phase: succeeded}, Converged},
		"a new one":                               {0, 1, csvNamed("a", "", ""), Adopting},
		"giving back":                             {0, 1, csvNamed("a", GiveBack, FormAdopted), GivingBack},
		"the manager has given back":              {0, 1, csvNamed("a", GiveBack, FormGivenBack), ReadyForOLM},
		"given back, and olm-operator is stopped": {0, 0, csvNamed("a", GivenBack, FormGivenBack), ReadyForOLM},
	} {
		installtest.Same(t, name, test.want, snapshot(test.olm, test.manager).StateOf(test.csv))
	}
}

func TestStatusPrint(t *testing.T) {
	for name, test := range map[string]struct {
		snapshot *Snapshot
		want     []string
	}{
		"before":  {snapshot(1, 0, csvNamed("a", "", "")), []string{"olm-operator: Deployment olm-operator/olm-operator, 1 of 1 replicas available, version v0.46.0", "shop        a     WithOLM"}},
		"a begun": {snapshot(1, 0, csvNamed("a", GivenBack, ""), csvNamed("b", "", "")), []string{"1 of 2 ClusterServiceVersions have the label olm-webhook-manager.io/takeover: takeover run continues"}},
		"during": {snapshot(0, 2, csvNamed("a", Held, FormAdopted), csvNamed("b", GivenBack, "")), []string{
			"managed by no client: shop/b: takeover run continues", "in the form of olm-operator until the next rollout: shop/a: ",
		}},
		"no program":   {snapshot(0, 0, csvNamed("a", Held, FormAdopted)), []string{"olm-operator and the manager are not available"}},
		"two programs": {snapshot(1, 1, csvNamed("a", Held, FormAdopted)), []string{"both run, and revert each other's writes"}},
		"undo":         {snapshot(0, 1, csvNamed("a", GiveBack, FormAdopted)), []string{"GivingBack", "takeover undo continues"}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			StatusOf(test.snapshot).Print(output.New(&out))
			installtest.Contains(t, out.String(), test.want...)
		})
	}
}

func TestReportOf(t *testing.T) {
	status := &managerv1alpha1.TakeoverStatus{Form: FormAdopted, Message: "m", Deployments: []string{"server"}}
	installtest.Same(t, "report", Report{FormAdopted, []string{"server"}, "m"}, ReportOf(status))
	installtest.Same(t, "without a report", Report{}, ReportOf(nil))
}
