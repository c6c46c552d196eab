package watch

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The disruption controller writes the status of a budget whenever a pod changes: that causes no reconciliation.
func TestStatusOfBudgets(t *testing.T) {
	before := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "b", ResourceVersion: "1"}}
	after := before.DeepCopy()
	after.ResourceVersion = "2"
	installtest.Same(t, "another version", true, onlyStatusDiffers(before, after))
	after.Spec.MaxUnavailable = new(intstr.FromInt32(1))
	installtest.Same(t, "another limit", false, onlyStatusDiffers(before, after))
	installtest.Same(t, "a new budget", false, onlyStatusDiffers(nil, after))
	installtest.Same(t, "a deleted budget", false, onlyStatusDiffers(before, nil))
	installtest.Same(t, "the version of the cached budget", "2", after.ResourceVersion)
}
