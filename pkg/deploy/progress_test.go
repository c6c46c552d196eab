package deploy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// What a Deployment says is said once.
func TestProgressIsNotRepeated(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "shop.v1"}}
	csv.Status.Phase, csv.Status.Message = operatorsv1alpha1.CSVPhaseInstalling, "waiting for manager: no image"
	rollout := &managerv1alpha1.WebhookRollout{}
	rollout.Status.Deployments = []managerv1alpha1.DeploymentStatus{{Name: "manager", State: managerv1alpha1.DeploymentProgressing, Message: "no image"}}
	for name, test := range map[string]struct {
		rollout *managerv1alpha1.WebhookRollout
		want    []string
	}{
		"after a Deployment":      {rollout, []string{"Deployment manager is Progressing: no image", "shop.v1 is Installing"}},
		"with nothing before it":  {&managerv1alpha1.WebhookRollout{}, []string{"shop.v1 is Installing: waiting for manager: no image"}},
		"before it was looked at": {nil, []string{"shop.v1 is Installing: waiting for manager: no image"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ProgressOf(csv, test.rollout, time.Now(), time.Now(), DefaultPatience).Lines); diff != "" {
				t.Errorf("what is told (-want +got)\n%s", diff)
			}
		})
	}
}

func TestProgressOf(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	csv := func(phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason, message string, since time.Duration) *operatorsv1alpha1.ClusterServiceVersion {
		c := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "shop.v1", Generation: 2}}
		c.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{{}}
		c.Status.Phase, c.Status.Reason, c.Status.Message = phase, reason, message
		c.Status.LastTransitionTime = &metav1.Time{Time: now.Add(-since)}
		return c
	}
	rollout := func(generation int64, reason string, ready metav1.ConditionStatus) *managerv1alpha1.WebhookRollout {
		return &managerv1alpha1.WebhookRollout{Status: managerv1alpha1.WebhookRolloutStatus{
			ObservedGeneration: generation,
			Conditions:         []metav1.Condition{{Type: managerv1alpha1.ConditionReady, Status: ready, Message: "the ready condition's cause"}},
			Deployments:        []managerv1alpha1.DeploymentStatus{{Name: "manager", State: managerv1alpha1.DeploymentProgressing, Reason: reason, Message: "the Deployment's cause"}},
		}}
	}
	const (
		pending, installing = operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVPhaseInstalling
		succeeded, failed   = operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVPhaseFailed
	)
	for name, test := range map[string]struct {
		csv       *operatorsv1alpha1.ClusterServiceVersion
		rollout   *managerv1alpha1.WebhookRollout
		done      bool
		diagnosis string
	}{
		"not there yet":                       {nil, nil, false, ""},
		"not looked at yet":                   {csv("", "", "", 0), nil, false, ""},
		"on its way":                          {csv(installing, "", "", 0), rollout(2, "ImagePullBackOff", metav1.ConditionFalse), false, ""},
		"on its way for long":                 {csv(installing, "", "", time.Hour), rollout(2, "WaitingForReplicas", metav1.ConditionFalse), false, ""},
		"its image is not there":              {csv(installing, "", "waits", 2*time.Minute), rollout(2, "ImagePullBackOff", metav1.ConditionFalse), false, "the ready condition's cause"},
		"an account is missing":               {csv(pending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "ServiceAccount shop is missing", 2*time.Minute), nil, false, "ServiceAccount shop is missing"},
		"an account is missing, for a moment": {csv(pending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "ServiceAccount shop is missing", time.Second), nil, false, ""},
		"it failed":                           {csv(failed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, "a rule is forbidden", 0), nil, false, "a rule is forbidden"},
		"it succeeded":                        {csv(succeeded, "", "", 0), rollout(2, "", metav1.ConditionTrue), true, ""},
		"it succeeded before":                 {csv(succeeded, "", "", 0), rollout(1, "", metav1.ConditionTrue), false, ""},
		"a webhook is not live":               {csv(succeeded, "", "", 0), rollout(2, "", metav1.ConditionFalse), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := ProgressOf(test.csv, test.rollout, now, now, DefaultPatience)
			if p.Done != test.done || (test.diagnosis == "") != (p.Diagnosis == "") || !strings.Contains(p.Diagnosis, test.diagnosis) {
				t.Errorf("progress: %+v, want done %v, diagnosis %q", p, test.done, test.diagnosis)
			}
		})
	}
}

// What was there for long before somebody waits for it is given the same time.
func TestProgressWithoutAManager(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1", CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	for waited, want := range map[time.Duration][]string{
		0:                             nil,
		DefaultPatience:               nil,
		DefaultPatience + time.Second: {"no manager has looked at ClusterServiceVersion shop/shop.v1", "kubectl get deployment -n olm-webhook-manager", "--namespaces, if it has any, include shop"},
	} {
		t.Run(waited.String(), func(t *testing.T) {
			p := ProgressOf(csv, nil, now.Add(-waited), now, DefaultPatience)
			if p.Done || (p.Diagnosis == "") != (len(want) == 0) {
				t.Errorf("done %t, diagnosis %q, want %q", p.Done, p.Diagnosis, want)
			}
			for _, part := range want {
				if !strings.Contains(p.Diagnosis, part) {
					t.Errorf("diagnosis %q does not say %q", p.Diagnosis, part)
				}
			}
		})
	}
}

// An operator that owns an APIService and has no webhook is not done before that is available.
func TestProgressOfAnAPIService(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "shop.v1"}}
	csv.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{Group: "shop.io", Version: "v1"}}
	csv.Status.Phase = operatorsv1alpha1.CSVPhaseSucceeded
	rollout := &managerv1alpha1.WebhookRollout{Status: managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{
		Name: "manager", State: managerv1alpha1.DeploymentAvailable,
		APIServices: []managerv1alpha1.APIServiceStatus{{Name: "v1.shop.io", State: managerv1alpha1.WebhookUnreachable, Message: "it does not answer"}},
	}}}}
	p := ProgressOf(csv, rollout, time.Now(), time.Now(), DefaultPatience)
	if line := "APIService v1.shop.io is Unreachable: it does not answer"; p.Done || !strings.Contains(strings.Join(p.Lines, "\n"), line) {
		t.Errorf("done %t, lines %q, want %q", p.Done, p.Lines, line)
	}
}
