package rollout

import (
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// facts are what a plan depends on, and what follows from it without any decision.
type facts struct {
	Input
	now      time.Time
	previous map[csvspec.Identity]*managerv1alpha1.WebhookStatus // what Previous reports (see before)
}

// yields tells whether somebody else has the better right to what the
// ClusterServiceVersion provides: two of them must not run.
func (f *facts) yields() bool {
	return f.Failure != nil && scope.Yields(f.Failure.Reason) || f.Verdict.Conflict != ""
}

// deploymentNames are those that the ClusterServiceVersion lists, and those that
// only its webhooks name, each once.
func (f *facts) deploymentNames() []string {
	all := csvspec.DeploymentNames(f.CSV)
	for _, d := range f.CSV.Spec.APIServiceDefinitions.Owned {
		all = append(all, d.DeploymentName)
	}
	for _, d := range f.CSV.Spec.WebhookDefinitions {
		all = append(all, d.DeploymentName)
	}
	return eachOnce(all)
}

// refused is why the API server has not accepted a write in this pass; empty when it has. That
// nobody answers a webhook is no verdict on what was to be written: it fails no installation.
func (f *facts) refused(key string) (reason, message string) {
	switch message = f.Observed.Refused[key]; {
	case message == "":
		return "", ""
	case f.Observed.Unanswered[key]:
		return reasonUnanswered, message
	default:
		return reasonRefused, message
	}
}

// refusal is what the API server says to what a Deployment needs, from its Secret to
// itself; empty when it accepts all of it.
func (f *facts) refusal(d render.Deployment) (reason, message string) {
	var needs []drift.Object
	if d.SecretName != "" {
		needs = append(needs, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.CSV.Namespace, Name: d.SecretName}})
	}
	if d.Service != nil {
		needs = append(needs, d.Service, d.Role, d.RoleBinding)
	}
	if d.AuthDelegator != nil {
		needs = append(needs, d.AuthDelegator, d.AuthReader)
	}
	for _, object := range append(needs, d.Object) {
		if reason, message := f.refused(drift.KeyOf(object)); reason != "" {
			return reason, message
		}
	}
	return "", ""
}

// refusedAlready reports whether the API server has refused a write of an object in this pass.
func (f *facts) refusedAlready(o drift.Object) bool {
	return f.Observed.Refused[drift.KeyOf(o)] != ""
}

func (f *facts) progressOf(d render.Deployment) workload.Progress {
	progress := workload.ProgressOf(f.Observed.Deployments[d.Object.Name], f.Observed.Pods[d.Object.Name])
	if reason, message := f.refusal(d); reason != "" {
		progress.State, progress.Reason, progress.Message = managerv1alpha1.DeploymentPending, reason, message
	}
	return progress
}

// lacksLabels tells whether Namespaces of the scope lack the label by which a webhook would
// select them. An APIService selects none.
func (f *facts) lacksLabels(w render.Webhook) bool {
	return len(f.Observed.UnlabelledNamespaces) > 0 && !registration.IsAPIService(w)
}

// missingLabels says which Namespaces of the scope lack its label, and what keeps them from it.
func (f *facts) missingLabels() (reason, message string) {
	message = "namespaces of the OperatorGroup do not bear its label yet: " + strings.Join(f.Observed.UnlabelledNamespaces, ", ")
	if why := scope.RefusedLabels(f.Observed.UnlabelledNamespaces, f.Observed.LabelRefusals); why != "" {
		message += "; " + why
	}
	return "NamespacesNotLabelled", message
}

// withLiveSelector is the desired registration as it may be written now. While Namespaces of
// the scope lack its label, a live registration goes on selecting as it does: those
// that it covers today would be without it until they are labelled.
func (f *facts) withLiveSelector(desired, live drift.Object) drift.Object {
	if len(f.Observed.UnlabelledNamespaces) == 0 {
		return desired
	}
	switch live := live.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		if len(live.Webhooks) > 0 {
			kept := desired.DeepCopyObject().(*admissionregistrationv1.ValidatingWebhookConfiguration)
			kept.Webhooks[0].NamespaceSelector = live.Webhooks[0].NamespaceSelector
			return kept
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		if len(live.Webhooks) > 0 {
			kept := desired.DeepCopyObject().(*admissionregistrationv1.MutatingWebhookConfiguration)
			kept.Webhooks[0].NamespaceSelector = live.Webhooks[0].NamespaceSelector
			return kept
		}
	}
	return desired
}

const (
	reasonRefused    = "RefusedByAPIServer"
	reasonUnanswered = "WebhookUnanswered"
)

// SecretContested reports whether a Secret is not to be written for now, because others undo each
// write of it.
func (o Observed) SecretContested(secret *corev1.Secret, now time.Time) bool {
	return o.Contests[drift.KeyOf(secret)].Blocks(secret, nil, drift.Drift{}, now)
}

// eachOnce returns names without repetitions, in their order: the status is also written where it is
// a mistake to name one twice.
func eachOnce(names []string) []string {
	known := make(map[string]bool, len(names))
	var all []string
	for _, name := range names {
		if !known[name] {
			known[name] = true
			all = append(all, name)
		}
	}
	return all
}
