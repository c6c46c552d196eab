package records

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

// While no decision is made about a version, endpoints may become ready. The used time stays known.
func TestInterruptedOutage(t *testing.T) {
	for name, interrupt := range map[string]func(*FailOpen, *operatorsv1alpha1.ClusterServiceVersion){
		"no reconciliation":             (*FailOpen).Interrupt,
		"reconciled without a decision": func(known *FailOpen, csv *operatorsv1alpha1.ClusterServiceVersion) { known.Add(csv, nil) },
	} {
		t.Run(name, func(t *testing.T) { testInterruption(t, interrupt) })
	}
}

func testInterruption(t *testing.T, interrupt func(*FailOpen, *operatorsv1alpha1.ClusterServiceVersion)) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1", UID: "uid"}}
	webhook := csvspec.Identity{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.example.com"}
	openings := []managerv1alpha1.Opening{{From: metav1.NewTime(noon), Until: new(metav1.NewTime(noon)), ClosedBy: managerv1alpha1.ClosedServed}}
	var known FailOpen
	interrupt(&known, csv)
	installtest.Same(t, "of an unknown version", 0, len(known.Of(csv)))
	known.Add(csv, map[csvspec.Identity]failopen.Decision{webhook: {
		Record: &managerv1alpha1.FailOpen{},
		Memory: failopen.Memory{UnreachableSince: noon, NoEndpointSince: noon, Openings: openings, AwaitsProof: true},
	}})
	before := known.Of(csv)
	interrupt(&known, csv)
	installtest.Same(t, "what is known", failopen.Memory{Openings: openings, AwaitsProof: true}, known.Of(csv)[webhook])
	installtest.Same(t, "what was returned before", noon, before[webhook].NoEndpointSince)
}
