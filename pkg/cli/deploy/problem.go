package deploy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// DefaultTimeout is how long a problem of an installation may last: images are pulled late, other clients
// create what is missing, and the manager retries.
const DefaultTimeout = time.Minute

// problem returns the cause that stops the installation, and whether only a change by the user helps.
func (l Observation) problem() (cause string, certain bool) {
	for _, judge := range []func() (string, bool){l.failure, l.stuckWebhook, l.stuckDeployment, l.unmet} {
		if cause, certain := judge(); cause != "" {
			return l.explain(cause), certain
		}
	}
	return "", false
}

func (l Observation) explain(cause string) string {
	csv := l.CSV
	text := fmt.Sprintf("%s is %s (%s): %s", csv.Name, csv.Status.Phase, csv.Status.Reason, csvstatus.Explained(csv.Status))
	if !strings.Contains(text, cause) {
		text += "; " + cause
	}
	if l.Rollout == nil {
		return text
	}
	ready := meta.FindStatusCondition(l.Rollout.Status.Conditions, managerv1alpha1.ConditionReady)
	if ready != nil && ready.Status == metav1.ConditionFalse && !strings.Contains(text, ready.Message) && !l.repeats(text, ready.Message) {
		text += "; " + ready.Message
	}
	return text
}

// repeats reports whether a text is about a Deployment's message that another text has: it can be long.
func (l Observation) repeats(text, more string) bool {
	return slices.ContainsFunc(l.deployments(), func(d managerv1alpha1.DeploymentStatus) bool {
		return d.Message != "" && strings.Contains(text, d.Message) && strings.Contains(more, d.Message)
	})
}

func (l Observation) failure() (string, bool) {
	if l.CSV.Status.Phase != operatorsv1alpha1.CSVPhaseFailed {
		return "", false
	}
	return csvstatus.Explained(l.CSV.Status), !l.MayBeStale
}

func (l Observation) unmet() (string, bool) {
	if l.CSV.Status.Reason != operatorsv1alpha1.CSVReasonRequirementsNotMet {
		return "", false
	}
	return csvstatus.Explained(l.CSV.Status), false
}

// stuckDeployment ignores a Deployment without warnings of its pods: it is in progress.
func (l Observation) stuckDeployment() (string, bool) {
	for _, d := range l.deployments() {
		warning := l.Warnings[d.Name]
		switch {
		case d.State == managerv1alpha1.DeploymentAvailable || d.Reason == "" || progressingReasons[d.Reason]:
		case d.Reason == managerv1alpha1.ReasonPodNotReady && l.Warnings != nil && warning == "":
		default:
			return withMessage(d.Message, warning), false
		}
	}
	return "", false
}

func (l Observation) stuckWebhook() (string, bool) {
	for _, d := range l.deployments() {
		for _, w := range d.Registrations() {
			if d.State == managerv1alpha1.DeploymentAvailable && w.State != managerv1alpha1.WebhookRegistered && w.State != managerv1alpha1.WebhookDisabled {
				return fmt.Sprintf("%s is %s: %s", managerv1alpha1.Title(w.Type, w.GenerateName), w.State, w.Message), w.Reason == managerv1alpha1.ReasonNoSuchPort
			}
		}
	}
	return "", false
}

func (l Observation) deployments() []managerv1alpha1.DeploymentStatus {
	if l.Rollout == nil {
		return nil
	}
	return l.Rollout.Status.Deployments
}

var progressingReasons = map[string]bool{managerv1alpha1.ReasonCreating: true, managerv1alpha1.ReasonUpdating: true, managerv1alpha1.ReasonWaitingForReplicas: true, managerv1alpha1.ReasonEarlierDeployment: true, managerv1alpha1.ReasonUnregistering: true}
