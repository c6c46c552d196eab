package deploy

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// DefaultPatience is how long an installation may be in trouble before that is its
// diagnosis: images are pulled late, and the manager goes on trying.
const DefaultPatience = time.Minute

// Progress is how far an installation is, as a person is told.
type Progress struct {
	// Lines say it part by part.
	Lines []string
	// Done is set when the ClusterServiceVersion is Succeeded, and every webhook live.
	Done bool
	// Diagnosis is why it does not go on; empty while it does.
	Diagnosis string
}

// ProgressOf reads a ClusterServiceVersion and its WebhookRollout; either may be nil. What
// does not mend itself is the diagnosis when it lasts longer than patience, and so is a
// manager that nobody has seen since the waiting began.
func ProgressOf(csv *operatorsv1alpha1.ClusterServiceVersion, r *managerv1alpha1.WebhookRollout, began, now time.Time, patience time.Duration) Progress {
	if csv == nil {
		return Progress{}
	}
	var p Progress
	if r != nil {
		for _, d := range r.Status.Deployments {
			p.Lines = append(p.Lines, deploymentLines(d)...)
		}
	}
	if csv.Status.Phase == "" {
		p.Lines = append(p.Lines, "waiting for the manager to look at it")
		if now.Sub(began) > patience {
			p.Diagnosis = unseen(csv)
		}
		return p
	}
	p.Lines = append(p.Lines, joined(fmt.Sprintf("%s is %s", csv.Name, csv.Status.Phase), unsaid(csvstatus.Explained(csv.Status), r)))
	p.Done = csv.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded && allLive(csv, r)
	if p.Done {
		return p
	}
	p.Diagnosis = diagnosis(csv, r, now, patience)
	return p
}

// unseen is the diagnosis of what no manager looks at.
func unseen(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	return fmt.Sprintf("no manager has looked at ClusterServiceVersion %s/%s: see whether one is installed and running (kubectl get deployment -n olm-webhook-manager), "+
		"and whether its --namespaces, if it has any, include %s; then run the same command again", csv.Namespace, csv.Name, csv.Namespace)
}

func deploymentLines(d managerv1alpha1.DeploymentStatus) []string {
	lines := []string{joined(fmt.Sprintf("Deployment %s is %s", d.Name, d.State), d.Message)}
	if c := d.Certificate; c != nil && c.NotAfter != nil {
		lines = append(lines, joined(fmt.Sprintf("certificate of %s, until %s: %s", d.Name, c.NotAfter.UTC().Format(time.DateOnly), c.Phase), c.Message))
	}
	for _, w := range d.Registrations() {
		message := w.Message
		if w.State == managerv1alpha1.WebhookRegistered || message == d.Message {
			message = ""
		}
		lines = append(lines, joined(fmt.Sprintf("%s is %s", managerv1alpha1.Title(w.Type, w.GenerateName), w.State), message))
	}
	return lines
}

// unsaid is what a ClusterServiceVersion says, unless it repeats a Deployment.
func unsaid(message string, r *managerv1alpha1.WebhookRollout) string {
	if r == nil {
		return message
	}
	for _, d := range r.Status.Deployments {
		if d.Message != "" && strings.Contains(message, d.Message) {
			return ""
		}
	}
	return message
}

func joined(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

// allLive tells whether the WebhookRollout, too, says that every webhook is, of this
// generation of the ClusterServiceVersion.
func allLive(csv *operatorsv1alpha1.ClusterServiceVersion, r *managerv1alpha1.WebhookRollout) bool {
	if len(csv.Spec.WebhookDefinitions)+len(csv.Spec.APIServiceDefinitions.Owned) == 0 {
		return true
	}
	return r != nil && r.Status.ObservedGeneration == csv.Generation && meta.IsStatusConditionTrue(r.Status.Conditions, managerv1alpha1.ConditionReady)
}

// diagnosis is what is in the way: a failure at once, anything else when it has been so
// for a while.
func diagnosis(csv *operatorsv1alpha1.ClusterServiceVersion, r *managerv1alpha1.WebhookRollout, now time.Time, patience time.Duration) string {
	cause := fmt.Sprintf("%s is %s (%s): %s", csv.Name, csv.Status.Phase, csv.Status.Reason, csvstatus.Explained(csv.Status))
	if r != nil {
		if ready := meta.FindStatusCondition(r.Status.Conditions, managerv1alpha1.ConditionReady); ready != nil && ready.Status == metav1.ConditionFalse && !strings.Contains(cause, ready.Message) {
			cause += "; " + ready.Message
		}
	}
	since := csv.Status.LastTransitionTime
	switch {
	case csv.Status.Phase == operatorsv1alpha1.CSVPhaseFailed:
		return cause
	case since != nil && now.Sub(since.Time) > patience && stands(csv, r):
		return cause
	default:
		return ""
	}
}

// stands tells what does not mend itself: requirements that are not met, and containers
// that cannot start.
func stands(csv *operatorsv1alpha1.ClusterServiceVersion, r *managerv1alpha1.WebhookRollout) bool {
	if csv.Status.Reason == operatorsv1alpha1.CSVReasonRequirementsNotMet {
		return true
	}
	if r == nil {
		return false
	}
	for _, d := range r.Status.Deployments {
		switch d.Reason {
		case "", "Creating", "Updating", "WaitingForReplicas", "ContainerCreating", "PodInitializing":
		default:
			return d.State != managerv1alpha1.DeploymentAvailable
		}
	}
	return false
}
