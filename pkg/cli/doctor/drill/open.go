package drill

import (
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// closed returns the snapshot with the webhooks that the manager has opened in their closed form, and the assumptions about
// them: an opening ends after a limited time, perhaps before all parts return.
func closed(s Snapshot) (Snapshot, []string) {
	var assumptions []string
	assume := func(kind, name string) {
		assumptions = append(assumptions, fmt.Sprintf("%s %s is open for a limited time: it is assumed that it is closed, and refuses requests that it does not answer", kind, name))
	}
	s.Admission.MutatingWebhooks = slices.Clone(s.Admission.MutatingWebhooks)
	for i, c := range s.Admission.MutatingWebhooks {
		if isOpen(&c, c.ObjectMeta) {
			c = *c.DeepCopy()
			webhookconfig.Close(&c, new(admissionregistrationv1.Fail), c.Webhooks[0].TimeoutSeconds)
			s.Admission.MutatingWebhooks[i] = c
			assume(doctor.Mutating, c.Name)
		}
	}
	s.Admission.ValidatingWebhooks = slices.Clone(s.Admission.ValidatingWebhooks)
	for i, c := range s.Admission.ValidatingWebhooks {
		if isOpen(&c, c.ObjectMeta) {
			c = *c.DeepCopy()
			webhookconfig.Close(&c, new(admissionregistrationv1.Fail), c.Webhooks[0].TimeoutSeconds)
			s.Admission.ValidatingWebhooks[i] = c
			assume(doctor.Validating, c.Name)
		}
	}
	return s, assumptions
}

// isOpen reports whether the manager has opened a configuration. It opens only webhooks of ClusterServiceVersions.
func isOpen(c metav1.Object, meta metav1.ObjectMeta) bool {
	return doctor.OwnerOf(meta).Name != "" && webhookconfig.OpenState(c) != managerv1alpha1.FailOpenClosed
}
