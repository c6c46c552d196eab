package rollout

import (
	"fmt"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// manyRegistered returns a cluster in which one Deployment serves many registered webhooks.
func manyRegistered(t *testing.T, webhooks int) *cluster {
	t.Helper()
	var all []operatorsv1alpha1.WebhookDescription
	for i := range webhooks {
		all = append(all, webhookOf("manager", func(d *operatorsv1alpha1.WebhookDescription) { d.GenerateName = fmt.Sprintf("v%d.example.com", i) }))
	}
	c := installed(t, all...)
	installtest.Same(t, "the number of registered webhooks", webhooks, len(c.Observed.Validating))
	return c
}

// The work of one decision grows with the number of live webhooks, not with its square: it is
// measured in allocations. A ClusterServiceVersion that is upgraded has as many more in its previous
// version.
func TestDecisionAmongManyWebhooks(t *testing.T) {
	states := map[string]func(*cluster){
		"installed": func(*cluster) {},
		"upgraded": func(c *cluster) {
			older := c.CSV.DeepCopy()
			older.Name, older.UID = "shop.v0", "uid-of-v0"
			c.Upgrade = Upgrade{From: []*operatorsv1alpha1.ClusterServiceVersion{older}, Started: true}
		},
	}
	for name, obstacle := range obstacles {
		states[name] = obstacle.put
	}
	few, many := manyRegistered(t, 30), manyRegistered(t, 120)
	for name, change := range states {
		t.Run(name, func(t *testing.T) {
			work := func(c *cluster) float64 {
				changed := *c
				changed.CSV = c.CSV.DeepCopy()
				change(&changed)
				changed.next()
				return testing.AllocsPerRun(1, func() { Next(changed.Input, changed.now) })
			}
			one, other := work(few), work(many)
			if other > 6*one {
				t.Errorf("%.0f allocations with 30 webhooks, %.0f with 120: more than in proportion", one, other)
			}
		})
	}
}
