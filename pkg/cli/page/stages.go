package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
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

// addStatus adds what the WebhookRollout and the ClusterServiceVersion report, and what was observed of them.
func (x *index) addStatus(w *Webhook, live []doctor.Webhook) {
	name := types.NamespacedName{Namespace: w.Namespace, Name: w.CSV}
	w.Events = eventsOf(x.events[name])
	r := x.rolloutOf(*w, live)
	if r.csv != nil {
		w.Stages = append(w.Stages, csvStage(*r.csv))
	}
	if x.rollouts[name] != nil {
		w.Certificate = r.status.Certificate
		w.Stages = append(w.Stages, deploymentStage(r.status, r.deployment), certificateStage(r.status.Certificate), registrationStage(*w, r.webhook))
		w.Rollout = r.chart()
	}
	w.Stages = inOrder(w.Stages)
	colors := x.colorsOf(*w, live)
	w.Certificates = validity(live, w.Certificate, answersOf(live, x.Facts), colors, x.now)
	w.Rotation = x.rotationOf(*w, colors).chart()
}

// rolloutOf gathers what is known of the rollout of a declared webhook.
func (x *index) rolloutOf(w Webhook, live []doctor.Webhook) rollout {
	name := types.NamespacedName{Namespace: w.Namespace, Name: w.CSV}
	r := rollout{csv: x.csvs[name], unread: x.DeploymentsUnread, live: len(live) > 0, events: w.Events, now: x.now}
	if found := x.rollouts[name]; found != nil {
		r.status = lists.First(found.Status.Deployments, func(d managerv1alpha1.DeploymentStatus) bool { return d.Name == w.Deployment })
	}
	r.webhook = lists.First(r.status.Registrations(), func(reported managerv1alpha1.WebhookStatus) bool {
		return reported.GenerateName == w.Name && strings.HasPrefix(string(reported.Type), w.Type)
	})
	r.deployment = x.deployments[types.NamespacedName{Namespace: w.Namespace, Name: w.Deployment}]
	r.states = x.history.webhooks[webhookKey{w.Namespace, w.CSV, string(r.webhook.Type), w.Name}]
	for _, one := range live {
		if one.Kind == doctor.Conversion {
			r.written = one.Written
		} else if r.registered.IsZero() || one.Written.Before(r.registered) {
			r.registered = one.Written
		}
	}
	return r
}

// colorsOf gives a color to each CA, the first observed one first.
func (x *index) colorsOf(w Webhook, live []doctor.Webhook) palette {
	colors := palette{}
	for _, s := range x.history.certificates[deploymentKey{w.Namespace, w.CSV, w.Deployment}] {
		colors.add(s.value.trusted...)
	}
	colors.add(lists.Map(trustedCAs(live), fingerprintOf)...)
	if w.Certificate != nil {
		colors.add(short(w.Certificate.CAFingerprint))
	}
	return colors
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

func deploymentStage(d managerv1alpha1.DeploymentStatus, live *appsv1.Deployment) Stage {
	s := Stage{Name: strings.TrimSpace("Deployment " + d.Name), State: cmp.Or(string(d.State), "unknown"), Message: d.Message, Progress: Pending}
	if d.State == managerv1alpha1.DeploymentAvailable {
		s.Progress = Done
	}
	if live == nil {
		return s
	}
	if c := conditionOf(*live, appsv1.DeploymentAvailable); c.Status == corev1.ConditionTrue && s.Progress == Done {
		s.Since = &c.LastTransitionTime.Time
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
