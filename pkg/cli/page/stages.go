package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// Progress is how much of a stage is reached.
type Progress string

// The progress of a stage.
const (
	Done    Progress = "done"
	Current Progress = "in progress"
	Pending Progress = "not started"
)

// Stage is one step of the rollout of a webhook.
type Stage struct {
	Name     string
	Progress Progress
	// State is the state of the object of the stage, in its own words.
	State string
	// Since is when State was first observed; nil if that is not recorded.
	Since *time.Time
	// Message is what the stage waits for, and what to do about it.
	Message string
}

// Class is the name of the progress in the style sheet.
func (s Stage) Class() string { return strings.ReplaceAll(string(s.Progress), " ", "-") }

// Event is what the manager, or an OLM, reported of the ClusterServiceVersion.
type Event struct {
	Time    time.Time
	Warning bool
	Reason  string
	Message string
	Count   int32
}

// addStatus adds what the WebhookRollout and the ClusterServiceVersion report.
func (x *index) addStatus(w *Webhook, live []doctor.Webhook) {
	name := types.NamespacedName{Namespace: w.Namespace, Name: w.CSV}
	if csv := x.csvs[name]; csv != nil {
		w.Stages = append(w.Stages, csvStage(*csv))
	}
	if rollout := x.rollouts[name]; rollout != nil {
		deployment := lists.First(rollout.Status.Deployments, func(d managerv1alpha1.DeploymentStatus) bool { return d.Name == w.Deployment })
		reported := lists.First(deployment.Registrations(), func(r managerv1alpha1.WebhookStatus) bool {
			return r.GenerateName == w.Name && strings.HasPrefix(string(r.Type), w.Type)
		})
		w.Certificate = deployment.Certificate
		w.Stages = append(w.Stages, deploymentStage(deployment), certificateStage(deployment.Certificate), registrationStage(*w, reported))
	}
	w.Stages = inOrder(w.Stages)
	w.Certificates = validityChart(live, w.Certificate, x.now)
	w.Rotation = x.history.chart(certificateKey{w.Namespace, w.CSV, w.Deployment}, x.now)
	w.Events = eventsOf(x.events[name])
}

// inOrder marks the first stage that is not done as the current one.
func inOrder(stages []Stage) []Stage {
	i := slices.IndexFunc(stages, func(s Stage) bool { return s.Progress != Done })
	if i >= 0 {
		stages[i].Progress = Current
	}
	return stages
}

// blocked are the phases before the installation begins.
var blocked = []operatorsv1alpha1.ClusterServiceVersionPhase{
	operatorsv1alpha1.CSVPhaseNone, operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVPhaseUnknown,
}

func csvStage(csv operatorsv1alpha1.ClusterServiceVersion) Stage {
	s := Stage{Name: "ClusterServiceVersion", State: cmp.Or(string(csv.Status.Phase), "not reconciled"), Since: timeOf(csv.Status.LastTransitionTime), Progress: Done}
	if slices.Contains(blocked, csv.Status.Phase) {
		s.Progress, s.Message = Pending, csvstatus.Explained(csv.Status)
	}
	return s
}

func deploymentStage(d managerv1alpha1.DeploymentStatus) Stage {
	s := Stage{Name: strings.TrimSpace("Deployment " + d.Name), State: cmp.Or(string(d.State), "unknown"), Message: d.Message, Progress: Pending}
	if d.State == managerv1alpha1.DeploymentAvailable {
		s.Progress = Done
	}
	return s
}

func certificateStage(c *managerv1alpha1.CertificateStatus) Stage {
	s := Stage{Name: "Certificate", State: "none", Progress: Pending}
	if c == nil {
		return s
	}
	s.State, s.Message = fmt.Sprintf("%s, of provider %s", c.Phase, c.Provider), c.Message
	if s.Since = timeOf(c.LastUpdateTime); c.Phase != managerv1alpha1.CertificateBootstrap {
		s.Progress = Done
	}
	return s
}

// The test review precedes the registration, and a webhook that waits for it has the cause in its message.
func registrationStage(w Webhook, status managerv1alpha1.WebhookStatus) Stage {
	s := Stage{Name: "Test review and registration", State: w.State, Since: timeOf(status.LastTransitionTime), Message: w.Problem, Progress: Pending}
	if w.Reason != "" {
		s.State += ": " + w.Reason
	}
	if len(w.Registrations) > 0 && w.State != string(managerv1alpha1.WebhookWaiting) {
		s.Progress = Done
	}
	return s
}

func timeOf(t *metav1.Time) *time.Time {
	if t == nil {
		return nil
	}
	return &t.Time
}

// maxEvents is how many events of one ClusterServiceVersion are shown.
const maxEvents = 50

// eventsOf returns the latest events, the latest first.
func eventsOf(events []corev1.Event) []Event {
	all := lists.Map(events, func(e corev1.Event) Event {
		return Event{Time: timeOfEvent(e), Warning: e.Type == corev1.EventTypeWarning, Reason: e.Reason, Message: e.Message, Count: e.Count}
	})
	slices.SortStableFunc(all, func(a, b Event) int { return b.Time.Compare(a.Time) })
	return all[:min(len(all), maxEvents)]
}

// timeOfEvent is the last time: clients of both versions of the kind fill other fields.
func timeOfEvent(e corev1.Event) time.Time {
	last := e.EventTime.Time
	if e.Series != nil {
		last = e.Series.LastObservedTime.Time
	}
	if e.LastTimestamp.After(last) {
		last = e.LastTimestamp.Time
	}
	return last
}
