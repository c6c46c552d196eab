package rollout

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// The message of a blocked deletion is brief for any number of definitions. It has the possible
// actions, the number of definitions and the first one. It is not written again.
func TestDeletionBlockedIsBrief(t *testing.T) {
	const details = "kubectl -n shop describe webhookrollouts shop.v1"
	for _, n := range []int{1, 3, 10, 1000} {
		var crds []*apiextensionsv1.CustomResourceDefinition
		objects := map[string]int{}
		for i := range n {
			crd := convertedCRD("manager-service", []string{"v1", "v2"}, "v1", "v2")
			crd.Name = fmt.Sprintf("widgets%d.shop.example.com", i)
			crds, objects[crd.Name] = append(crds, crd), 7
		}
		inUse := conversion.EndAll("operators", func(service string) bool { return service == "manager-service" }, crds, objects, false).InUse
		for deleted, text := range map[bool]string{false: inUse, true: phase.NamespaceDeleted(inUse)} {
			t.Run(fmt.Sprintf("%d definitions, Namespace is deleted: %t", n, deleted), func(t *testing.T) {
				csv, now := &operatorsv1alpha1.ClusterServiceVersion{}, metav1.NewTime(noon)
				held := phase.DeletionBlocked(csv.Status, managerv1alpha1.ConditionConversionInUse, text, details)[0]
				csv.SetPhase(held.Phase, held.Reason, held.Message, &now)
				again := phase.DeletionBlocked(csv.Status, managerv1alpha1.ConditionConversionInUse, text, details)
				installtest.Same(t, "the number of phases that are written again", 0, len(again))
				want := []string{wellknown.AnnotationForceConversion + "=true"}
				if n > 1 {
					want = append(want, details)
				}
				if n > 1 && !deleted {
					want = append(want, fmt.Sprintf("%d definitions", n))
				}
				if !deleted {
					want = append(want, "migrate or delete", "widgets0.shop.example.com has 7 objects")
				}
				installtest.Contains(t, held.Message, want...)
				if len(held.Message) > csvstatus.MaxMessage {
					t.Errorf("%d bytes: %s", len(held.Message), held.Message)
				}
			})
		}
	}
}

// A long cause is reported for each of many webhooks, and the status stays within the size limit of etcd.
func TestStatusOfManyWebhooksFits(t *testing.T) {
	webhooks := manyWebhooks(2000)
	c := clusterWith(t, webhooks...)
	c.Verdict.Violations = []requirements.Violation{{Message: strings.Repeat("a cause that is explained at length; ", 1000), WayOut: "correct it"}}
	written := installtest.OrPanic(json.Marshal(c.reconcile().Status))
	if most := 1 << 20; len(written) > most {
		t.Errorf("%d bytes, more than %d", len(written), most)
	}
	if count := strings.Count(string(written), "a cause that is explained at length"); count < len(webhooks) {
		t.Errorf("the cause is reported %d times", count)
	}
}

// manyRegistered returns a cluster in which one Deployment serves many registered webhooks.
func manyRegistered(t *testing.T, webhooks int) *cluster {
	t.Helper()
	all := manyWebhooks(webhooks)
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

func manyWebhooks(n int) []operatorsv1alpha1.WebhookDescription {
	return installtest.Times(n, func(i int) operatorsv1alpha1.WebhookDescription {
		return webhookOf("manager", named(fmt.Sprintf("v%d.example.com", i)))
	})
}
