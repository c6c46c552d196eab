package deploy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
)

// Observation is the observed state of an installation.
type Observation struct {
	// CSV and Rollout may be nil.
	CSV     *operatorsv1alpha1.ClusterServiceVersion
	Rollout *managerv1alpha1.WebhookRollout
	// Subscription is the one whose config has been applied.
	Subscription managerv1alpha1.SubscriptionReference
	// Pending is the Deployment that an operator without webhooks waits for after it was Succeeded once.
	Pending *PendingDeployment
	// Warnings are the last warnings of the pods of each Deployment; nil if they may not be read.
	Warnings map[string]string
	// MayBeStale is set for a while: the status may be older than the applied objects.
	MayBeStale bool
}

// Progress is the progress of an installation in the form that commands print.
type Progress struct {
	Lines []string
	// Done is set if the ClusterServiceVersion is Succeeded and every webhook is live.
	Done bool
	// Problem is the cause that stops the installation; empty when there is none, or it is probably temporary.
	Problem string
	// Permanent is set when the problem needs a change by the user.
	Permanent bool
	// Unobserved is set until a manager has reconciled the applied objects.
	Unobserved bool
}

// ProgressOf returns the progress in an observation.
func ProgressOf(l Observation) Progress {
	if l.CSV == nil {
		return Progress{Problem: "the ClusterServiceVersion that this command applied was deleted by another client; run the same command again", Permanent: true}
	}
	var p Progress
	for _, d := range l.deployments() {
		p.Lines = append(p.Lines, deploymentLines(d)...)
	}
	csv := l.CSV
	if csv.Status.Phase == "" || !l.isCurrent() {
		p.Lines = append(p.Lines, "waiting for the manager to reconcile it")
		p.Problem, p.Unobserved = unobservedProblem(csv), true
		return p
	}
	if l.Pending != nil {
		p.Lines = append(p.Lines, withMessage(fmt.Sprintf("waiting for Deployment %s", l.Pending.Name), l.Pending.Message))
		p.Problem, p.Unobserved = l.pendingProblem(), l.Pending.Unobserved
		return p
	}
	p.Lines = append(p.Lines, withMessage(fmt.Sprintf("%s is %s", csv.Name, csv.Status.Phase), csvMessage(csvstatus.Explained(csv.Status), l.deployments())))
	if p.Done = csv.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded && l.allWebhooksLive(); !p.Done {
		p.Problem, p.Permanent = l.problem()
	}
	return p
}

func unobservedProblem(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	return fmt.Sprintf("no manager has reconciled the present generation of ClusterServiceVersion %s/%s: check that a manager is installed and running (kubectl get deployments -A -l app.kubernetes.io/name=olm-webhook-manager), "+
		"and that its --namespaces, if set, include %s; then run the same command again", csv.Namespace, csv.Name, csv.Namespace)
}

func deploymentLines(d managerv1alpha1.DeploymentStatus) []string {
	lines := []string{withMessage(fmt.Sprintf("Deployment %s is %s", d.Name, d.State), d.Message)}
	if line := certificateLine(d); line != "" {
		lines = append(lines, line)
	}
	for _, w := range d.Registrations() {
		message := w.Message
		if w.State == managerv1alpha1.WebhookRegistered || message == d.Message {
			message = ""
		}
		lines = append(lines, withMessage(fmt.Sprintf("%s is %s", managerv1alpha1.Title(w.Type, w.GenerateName), w.State), message))
	}
	return lines
}

// csvMessage is empty if it repeats the message of a Deployment.
func csvMessage(message string, all []managerv1alpha1.DeploymentStatus) string {
	for _, d := range all {
		if d.Message != "" && strings.Contains(message, d.Message) || strings.Contains(message, "waiting for deployment "+d.Name+" to become ready") {
			return ""
		}
	}
	return message
}

func certificateLine(d managerv1alpha1.DeploymentStatus) string {
	c := d.Certificate
	switch {
	case c == nil:
		return ""
	case c.NotAfter != nil:
		return withMessage(fmt.Sprintf("certificate of %s, until %s: %s", d.Name, c.NotAfter.UTC().Format(time.DateOnly), c.Phase), c.Message)
	case c.Message != "":
		return fmt.Sprintf("certificate of %s: %s: %s", d.Name, c.Phase, c.Message)
	default:
		return ""
	}
}

func withMessage(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

func (l Observation) pendingProblem() string {
	warning := l.Warnings[l.Pending.Name]
	if !l.Pending.Unobserved && warning == "" {
		return ""
	}
	return withMessage(fmt.Sprintf("Deployment %s: %s", l.Pending.Name, l.Pending.Message), warning)
}

// isCurrent reports whether the manager's status is about the applied objects.
func (l Observation) isCurrent() bool {
	if !csvspec.HasRegistrations(l.CSV) {
		return true
	}
	if l.Rollout == nil || l.Rollout.Status.ObservedGeneration != l.CSV.Generation {
		return false
	}
	follows := l.Rollout.Status.Subscription
	switch {
	case l.Subscription.Name == "":
		return true
	case follows == nil:
		return false
	default:
		return follows.Name != l.Subscription.Name || follows.Generation >= l.Subscription.Generation
	}
}

// allWebhooksLive also reads the WebhookRollout: the manager records there first what it begins to change.
func (l Observation) allWebhooksLive() bool {
	if !csvspec.HasRegistrations(l.CSV) {
		return true
	}
	return meta.IsStatusConditionTrue(l.Rollout.Status.Conditions, managerv1alpha1.ConditionReady) &&
		!slices.ContainsFunc(l.deployments(), func(d managerv1alpha1.DeploymentStatus) bool { return d.State != managerv1alpha1.DeploymentAvailable })
}

// LiveWebhooks is the end of the message that an operator is installed: how many of its webhooks are registered, and which are
// disabled.
func LiveWebhooks(rollout *managerv1alpha1.WebhookRollout) string {
	live, all := 0, 0
	var disabled []string
	for _, d := range rollout.Status.Deployments {
		for _, w := range d.Webhooks {
			all++
			if w.State == managerv1alpha1.WebhookRegistered {
				live++
			}
			if w.State == managerv1alpha1.WebhookDisabled {
				disabled = append(disabled, w.GenerateName)
			}
		}
	}
	switch {
	case all == 0:
		return ""
	case live == all && all == 1:
		return ", its webhook is live"
	case live == all:
		return ", its webhooks are live"
	case len(disabled) == 0:
		return fmt.Sprintf(", live webhooks: %d of %d", live, all)
	default:
		return fmt.Sprintf(", live webhooks: %d of %d; disabled by the config of Subscription %s: %s", live, all,
			ptr.Deref(rollout.Status.Subscription, managerv1alpha1.SubscriptionReference{}).Name, strings.Join(disabled, ", "))
	}
}

// Converts reports whether the operator's webhook converts a live definition: its awaited versions can be served.
func (l Observation) Converts(live *apiextensionsv1.CustomResourceDefinition) bool {
	return l.isCurrent() && l.Rollout != nil && conversion.Converts(l.Rollout.Status, live)
}

// WaitsForVersions returns the Deployment of the conversion webhook if it may wait for the versions: it is not ready.
func (l Observation) WaitsForVersions(crd string) (deployment string) {
	if l.Rollout == nil {
		return ""
	}
	return conversion.UnreadyConverter(l.Rollout.Status, crd)
}
