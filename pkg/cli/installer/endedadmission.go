package installer

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// endedAdmission has, in the words of an API server, the webhooks and policies that deletions end.
type endedAdmission []string

// add adds what the deletion of an object ends. The manager unregisters the webhooks of a ClusterServiceVersion before it
// no longer exists.
func (e *endedAdmission) add(o *unstructured.Unstructured) {
	typed := bundle.Typed(o)
	switch o := typed.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		for _, d := range o.Spec.WebhookDefinitions {
			e.addWebhook(d.GenerateName)
		}
	case *admissionregistrationv1.ValidatingAdmissionPolicy:
		*e = append(*e, fmt.Sprintf("ValidatingAdmissionPolicy '%s' with binding", o.Name))
	case *admissionregistrationv1.ValidatingAdmissionPolicyBinding:
		*e = append(*e, fmt.Sprintf("with binding '%s' denied", o.Name))
	}
	for _, w := range webhookconfig.Webhooks(typed) {
		e.addWebhook(w.Name)
	}
}

func (e *endedAdmission) addWebhook(name string) {
	*e = append(*e, fmt.Sprintf("webhook %q", name))
}

// refuses reports whether the answer to a dry run is no refusal of the deletion itself. API servers refuse dry runs where
// a webhook has side effects.
func (e endedAdmission) refuses(answer error) bool {
	if answer == nil {
		return false
	}
	text := answer.Error()
	return strings.Contains(text, "does not support dry run") || slices.ContainsFunc(e, func(by string) bool { return strings.Contains(text, by) })
}
