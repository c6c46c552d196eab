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

// DelayUntil is when what a plan reports is worth being said in the ClusterServiceVersion: at once,
// which is the zero time, but for an installation that goes on as it is said to. That its
// Deployment is just being created, and every turn of what it waits for, is told with patience:
// where many are installed at once, most of it is over before anybody could read it, and each
// word costs the API server as much as an object of the next operator.
func DelayUntil(csv operatorsv1alpha1.ClusterServiceVersionStatus, previous, next managerv1alpha1.WebhookRolloutStatus, phases []phase.Phase, deployments map[string]*appsv1.Deployment, patience time.Duration) time.Time {
	var since time.Time
	switch from := phase.Of(csv); {
	case patience == 0 || !phase.Continues(from, phases) || from.Phase == "" && IsSignificant(previous, next):
		return time.Time{}
	case from.Phase != "" && csv.LastUpdateTime != nil:
		since = csv.LastUpdateTime.Add(laterDelays * patience)
	default:
		for _, d := range deployments {
			if at := d.CreationTimestamp.Add(patience); at.After(since) {
				since = at
			}
		}
	}
	if since.IsZero() {
		return time.Time{}
	}
	return since.Add(time.Second) // neither instant has fractions
}

// laterDelays is how many times as long a word stands, once there is one to be read.
const laterDelays = 4

// IsSignificant tells whether a status differs from the one before, if there was any, in more than
// words: in anything that people or later passes rely on.
func IsSignificant(before, after managerv1alpha1.WebhookRolloutStatus) bool {
	if len(before.Conditions) > 0 {
		return !equality.Semantic.DeepEqual(withoutTexts(before), withoutTexts(after))
	}
	if after.Upgrade != nil || len(withoutTexts(after).Conditions) > 1 || !meta.IsStatusConditionFalse(after.Conditions, managerv1alpha1.ConditionReady) {
		return true
	}
	for _, d := range after.Deployments {
		if slices.ContainsFunc(d.Registrations(), func(w managerv1alpha1.WebhookStatus) bool { return w.State != managerv1alpha1.WebhookWaiting }) {
			return true
		}
	}
	return false
}

// withoutTexts drops what only describes how far Deployments and their webhooks are, and what
// rules of theirs match nothing: that changes nothing about the installation.
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
			d.Webhooks[j].Reason, d.Webhooks[j].Message, d.Webhooks[j].Since = "", "", nil
		}
		for j := range d.APIServices {
			d.APIServices[j].Reason, d.APIServices[j].Message, d.APIServices[j].Since = "", "", nil
		}
	}
	return s
}
