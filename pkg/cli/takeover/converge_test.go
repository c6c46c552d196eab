package takeover

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Budgets limit converge only where a pod is replaced. Budgets that the user may not read block it.
func TestBudgets(t *testing.T) {
	blocks := Deployment{Name: "server", Replicas: 1, Available: 1, Budgets: []string{"pdb"}}
	onlyA := Options{Names: []types.NamespacedName{{Namespace: "shop", Name: "a"}}}
	for name, test := range map[string]struct {
		change  func(*Snapshot)
		o       Options
		writes  []string
		wait    string
		blocked string
	}{
		"a budget that allows no disruption": {func(s *Snapshot) { s.CSVs[0].Deployments[0] = blocks }, onlyA,
			nil, "shop/a cannot be restarted now: PodDisruptionBudget pdb allows no disruption of Deployment server", ""},
		"no replica": {func(s *Snapshot) { s.CSVs[0].Deployments[0] = Deployment{Name: "server", Budgets: blocks.Budgets} }, onlyA,
			[]string{"label ClusterServiceVersion shop/a=converge"}, "", ""},
		"not read": {func(s *Snapshot) { s.CSVs[1].BudgetsUnread = true }, Options{},
			nil, "", "you may not list poddisruptionbudgets in namespace shop, so shop/b is not restarted: grant the permission list, then run this command again"},
		"not read, of another CSV": {func(s *Snapshot) { s.CSVs[1].BudgetsUnread = true }, onlyA,
			[]string{"label ClusterServiceVersion shop/a=converge"}, "", ""},
		"not read, of a converged CSV": {func(s *Snapshot) { s.CSVs[1].BudgetsUnread, s.CSVs[1].Order = true, "" }, Options{},
			[]string{"label ClusterServiceVersion shop/a=converge"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := takenOver()
			test.change(s)
			d := NextConverge(test.o)(s, time.Time{})
			installtest.Same(t, "writes", test.writes, texts(d.Writes))
			installtest.Same(t, "what it waits for", test.wait, d.Wait)
			installtest.Same(t, "what blocks it", test.blocked, d.Blocked)
		})
	}
}
