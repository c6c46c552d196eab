package report

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// DelayUntil returns when to report progress; zero for at once. If many operators are installed at the same time,
// most progress is over before a user can read it, and each write costs as much as an object.
func DelayUntil(csv operatorsv1alpha1.ClusterServiceVersionStatus, previous, next managerv1alpha1.WebhookRolloutStatus, phases []phase.Phase, deployments map[string]*appsv1.Deployment, delay time.Duration) time.Time {
	var since time.Time
	switch from := phase.Of(csv); {
	case delay == 0 || !phase.Continues(from, phases) || from.Phase == "" && IsSignificant(previous, next):
		return time.Time{}
	case from.Phase != "" && csv.LastUpdateTime != nil:
		since = csv.LastUpdateTime.Add(laterDelays * delay)
	default:
		for _, d := range deployments {
			if at := d.CreationTimestamp.Add(delay); at.After(since) {
				since = at
			}
		}
	}
	if since.IsZero() {
		return time.Time{}
	}
	return since.Add(time.Second) // neither instant has fractions
}

// laterDelays is the factor for a status that already has a message.
const laterDelays = 4

// IsSignificant reports whether a status differs from the previous one in more than texts.
func IsSignificant(before, after managerv1alpha1.WebhookRolloutStatus) bool {
	if len(before.Conditions) > 0 {
		return !equality.Semantic.DeepEqual(withoutTexts(before), withoutTexts(after))
	}
	if after.Upgrade != nil || len(withoutTexts(after).Conditions) > 1 || !meta.IsStatusConditionFalse(after.Conditions, managerv1alpha1.ConditionReady) {
		return true
	}
	return slices.ContainsFunc(after.Deployments, func(d managerv1alpha1.DeploymentStatus) bool {
		return slices.ContainsFunc(d.Registrations(), func(w managerv1alpha1.WebhookStatus) bool { return w.State != managerv1alpha1.WebhookWaiting })
	})
}

// withoutTexts also drops the condition about rules, which do not change the installation.
func withoutTexts(s managerv1alpha1.WebhookRolloutStatus) managerv1alpha1.WebhookRolloutStatus {
	s = *s.DeepCopy()
	meta.RemoveStatusCondition(&s.Conditions, managerv1alpha1.ConditionRulesMatchNothing)
	for i, c := range s.Conditions {
		s.Conditions[i] = metav1.Condition{Type: c.Type, Status: c.Status}
	}
	for i := range s.Deployments {
		d := &s.Deployments[i]
		d.State, d.Reason, d.Message = "", "", ""
		if d.Certificate != nil {
			d.Certificate.Endpoints, d.Certificate.Message = nil, ""
		}
		for j := range d.Webhooks {
			d.Webhooks[j].Reason, d.Webhooks[j].Message, d.Webhooks[j].LastTransitionTime = "", "", nil
		}
		for j := range d.APIServices {
			d.APIServices[j].Reason, d.APIServices[j].Message, d.APIServices[j].LastTransitionTime = "", "", nil
		}
	}
	return s
}
