package gather

import (
	"slices"

	policyv1 "k8s.io/api/policy/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
)

// addBudgets separates the budgets of the versions from all others, by the uid of the owner: any client can write labels.
func addBudgets(g *Gatherer, s *decide.Facts) {
	o := &s.Observed
	o.Budgets = map[string]*policyv1.PodDisruptionBudget{}
	for _, budget := range g.Caches.Budgets.In(s.CSV.Namespace) {
		owns := func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return render.OwnsBudget(csv, budget) }
		if slices.ContainsFunc(s.Versions(), owns) {
			o.Budgets[budget.Name] = budget
		} else {
			o.OtherBudgets = append(o.OtherBudgets, budget)
		}
	}
	if s.Config.HasBudget(s.CSV) {
		unlabelled, read := g.OtherBudgets.In(s.CSV.Namespace)
		o.OtherBudgets, o.OtherBudgetsUnknown = append(o.OtherBudgets, unlabelled...), !read
	}
}
