package rollout

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

type facts struct {
	Input
	now      time.Time
	previous map[csvspec.Identity]*managerv1alpha1.WebhookStatus // index of Previous
	index    *registrationIndex                                  // of the live registrations
	changes  map[string]map[csvspec.Identity]render.Change       // by previous version
}

// Two operators with the same APIs must not run.
func (in Input) yields() bool {
	return in.Failure != nil && scope.Yields(in.Failure.Reason) || in.Verdict.Conflict != ""
}

func (p *planner) deploymentNames() []string {
	return lists.Distinct(slices.Concat(
		csvspec.DeploymentNames(p.CSV),
		lists.Map(p.CSV.Spec.APIServiceDefinitions.Owned, func(d operatorsv1alpha1.APIServiceDescription) string { return d.DeploymentName }),
		lists.Map(p.CSV.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) string { return d.DeploymentName }),
	))
}

// An installation does not fail because a webhook did not answer.
func (f *facts) refused(keys ...string) (reason, message string) {
	key := lists.First(keys, func(key string) bool { return f.Observed.Refused[key] != "" })
	switch message = f.Observed.Refused[key]; {
	case message == "":
		return "", ""
	case f.Observed.Unanswered[key]:
		return managerv1alpha1.ReasonWebhookUnanswered, message
	default:
		return managerv1alpha1.ReasonRefusedByAPIServer, message
	}
}

// refusal returns the first refusal among the objects that a Deployment needs.
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
	return f.refused(lists.Map(append(needs, d.Object), drift.KeyOf)...)
}

func (f *facts) progressOf(d render.Deployment) workload.Progress {
	progress := workload.ProgressOf(f.Observed.Deployments[d.Object.Name], f.Observed.Pods[d.Object.Name])
	if reason, message := f.refusal(d); reason != "" {
		progress.State, progress.Reason, progress.Message = managerv1alpha1.DeploymentPending, reason, message
	}
	return progress
}

// An APIService selects no namespaces.
func (o Observed) lacksLabels(w render.Webhook) bool {
	return len(o.UnlabelledNamespaces) > 0 && !registration.IsAPIService(w)
}

// missingLabels returns which namespaces of the scope lack its label, and why.
func (o Observed) missingLabels() string {
	names := strings.Join(o.UnlabelledNamespaces, ", ")
	const message = "namespaces of the OperatorGroup do not have its label yet: "
	if why := scope.RefusedLabels(o.UnlabelledNamespaces, o.LabelRefusals); why != "" { // The cause comes first: messages are shortened.
		return message + why + "; all of them: " + names
	}
	return message + names
}

// withLiveSelector keeps the live selector while namespaces lack the label: the covered ones keep the webhook.
func (o Observed) withLiveSelector(desired, live drift.Object) drift.Object {
	if len(o.UnlabelledNamespaces) == 0 {
		return desired
	}
	return registration.WithLiveSelector(desired, live)
}

// SecretContested reports whether another client reverts each write of a Secret.
func (o Observed) SecretContested(secret *corev1.Secret, now time.Time) bool {
	return o.Contests[drift.KeyOf(secret)].Blocks(secret, nil, drift.Drift{}, now)
}

// TrustBlocked reports whether the caBundle of a live registration or conversion is not written now, because of a contest.
func (o Observed) TrustBlocked(live drift.Object, now time.Time) bool {
	return o.Contests[drift.KeyOf(live)].BlocksTrust(live, now)
}

// RecreatedByOther reports whether another client creates an object again after each deletion.
func (o Observed) RecreatedByOther(live drift.Object, now time.Time) bool {
	_, ok := o.unlessContested(Step{Verb: Delete, Object: live, Live: live}, now)
	return !ok && live.GetDeletionTimestamp() == nil
}
