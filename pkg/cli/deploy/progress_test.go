package deploy

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// What a Deployment reports is printed once.
func TestProgressIsNotRepeated(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "shop.v1"}}
	csv.Status.Phase, csv.Status.Message = operatorsv1alpha1.CSVPhaseInstalling, "waiting for manager: no image"
	rollout := &managerv1alpha1.WebhookRollout{}
	rollout.Status.Deployments = []managerv1alpha1.DeploymentStatus{{Name: "manager", State: managerv1alpha1.DeploymentProgressing, Message: "no image"}}
	earlier := csv.DeepCopy()
	earlier.Status.Message = "installing: waiting for deployment manager to become ready: it has just begun"
	for name, test := range map[string]struct {
		csv     *operatorsv1alpha1.ClusterServiceVersion
		rollout *managerv1alpha1.WebhookRollout
		want    []string
	}{
		"after a Deployment":       {csv, rollout, []string{"Deployment manager is Progressing: no image", "shop.v1 is Installing"}},
		"reported a moment ago":    {earlier, rollout, []string{"Deployment manager is Progressing: no image", "shop.v1 is Installing"}},
		"with nothing before it":   {csv, &managerv1alpha1.WebhookRollout{}, []string{"shop.v1 is Installing: waiting for manager: no image"}},
		"before it was reconciled": {csv, nil, []string{"shop.v1 is Installing: waiting for manager: no image"}},
	} {
		installtest.Same(t, name+": output", test.want, ProgressOf(Observation{CSV: test.csv, Rollout: test.rollout}).Lines)
	}
}

// A certificate is reported also before it is issued.
func TestProgressOfACertificate(t *testing.T) {
	ends := metav1.NewTime(time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC))
	for name, test := range map[string]struct {
		certificate *managerv1alpha1.CertificateStatus
		want        []string
	}{
		"none":                 {nil, nil},
		"nothing known of it":  {&managerv1alpha1.CertificateStatus{Phase: managerv1alpha1.CertificateBootstrap}, nil},
		"not issued yet":       {&managerv1alpha1.CertificateStatus{Phase: managerv1alpha1.CertificateBootstrap, Message: "the Secret is empty"}, []string{"certificate of manager: Bootstrap: the Secret is empty"}},
		"it exists":            {&managerv1alpha1.CertificateStatus{Phase: managerv1alpha1.CertificateStable, NotAfter: &ends}, []string{"certificate of manager, until 2026-03-04: Stable"}},
		"it is being replaced": {&managerv1alpha1.CertificateStatus{Phase: managerv1alpha1.CertificatePromoting, NotAfter: &ends, Message: "pod a serves the old one"}, []string{"certificate of manager, until 2026-03-04: Promoting: pod a serves the old one"}},
	} {
		lines := deploymentLines(managerv1alpha1.DeploymentStatus{Name: "manager", State: managerv1alpha1.DeploymentProgressing, Certificate: test.certificate})
		installtest.Same(t, name+": output", append([]string{"Deployment manager is Progressing"}, test.want...), lines)
	}
}

func TestProgressOf(t *testing.T) {
	csv := func(phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason, message string) *operatorsv1alpha1.ClusterServiceVersion {
		c := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1", Generation: 2}}
		c.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{{}}
		c.Status.Phase, c.Status.Reason, c.Status.Message = phase, reason, message
		return c
	}
	rollout := func(reason string, ready metav1.ConditionStatus, webhook string) *managerv1alpha1.WebhookRollout {
		d := managerv1alpha1.DeploymentStatus{Name: "manager", State: managerv1alpha1.DeploymentProgressing, Reason: reason, Message: "the Deployment's cause"}
		if reason == "" {
			d.State, d.Message = managerv1alpha1.DeploymentAvailable, ""
		}
		if webhook != "" {
			d.Webhooks = []managerv1alpha1.WebhookStatus{{GenerateName: "v.shop.io", State: managerv1alpha1.WebhookWaiting, Reason: webhook, Message: "the webhook's cause"}}
		}
		return &managerv1alpha1.WebhookRollout{Status: managerv1alpha1.WebhookRolloutStatus{
			ObservedGeneration: 2,
			Conditions:         []metav1.Condition{{Type: managerv1alpha1.ConditionReady, Status: ready, Message: "the ready condition's cause"}},
			Deployments:        []managerv1alpha1.DeploymentStatus{d},
		}}
	}
	following := func(name string, generation int64) *managerv1alpha1.WebhookRollout {
		r := rollout("", metav1.ConditionTrue, "")
		r.Status.Subscription = &managerv1alpha1.SubscriptionReference{Name: name, Generation: generation}
		return r
	}
	before := rollout("", metav1.ConditionTrue, "")
	before.Status.ObservedGeneration = 1
	const (
		pending, installing = operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVPhaseInstalling
		succeeded, failed   = operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVPhaseFailed
		yes, no             = metav1.ConditionTrue, metav1.ConditionFalse
		unseen              = "no manager has reconciled the present generation of ClusterServiceVersion shop/shop.v1: check that a manager is installed and running (kubectl get deployments -A -l app.kubernetes.io/name=olm-webhook-manager), and that its --namespaces, if set, include shop"
	)
	subscription, warned := managerv1alpha1.SubscriptionReference{Name: "shop", Generation: 4}, map[string]string{"manager": "FailedMount: secret absent"}
	for name, test := range map[string]struct {
		look    Observation
		done    bool
		certain bool
		trouble string
	}{
		"deleted by another client":               {look: Observation{}, certain: true, trouble: "the ClusterServiceVersion that this command applied was deleted"},
		"not reconciled yet":                      {look: Observation{CSV: csv("", "", "")}, trouble: unseen},
		"reconciled as it was before":             {look: Observation{CSV: csv(succeeded, "", ""), Rollout: before}, trouble: unseen},
		"its config was not reconciled":           {look: Observation{CSV: csv(succeeded, "", ""), Rollout: rollout("", yes, ""), Subscription: subscription}, trouble: unseen},
		"its config was another when observed":    {look: Observation{CSV: csv(succeeded, "", ""), Rollout: following("shop", 3), Subscription: subscription}, trouble: unseen},
		"its config was observed":                 {look: Observation{CSV: csv(succeeded, "", ""), Rollout: following("shop", 4), Subscription: subscription}, done: true},
		"another Subscription counts":             {look: Observation{CSV: csv(succeeded, "", ""), Rollout: following("other", 1), Subscription: subscription}, done: true},
		"on its way":                              {look: Observation{CSV: csv(installing, "", ""), Rollout: rollout("WaitingForReplicas", no, "")}},
		"it starts, without warnings":             {look: Observation{CSV: csv(installing, "", ""), Rollout: rollout("PodNotReady", no, ""), Warnings: map[string]string{}}},
		"it starts, and a kubelet warns":          {look: Observation{CSV: csv(installing, "", ""), Rollout: rollout("PodNotReady", no, ""), Warnings: warned}, trouble: "the Deployment's cause: FailedMount: secret absent"},
		"it starts, and warnings may not be read": {look: Observation{CSV: csv(installing, "", ""), Rollout: rollout("PodNotReady", no, "")}, trouble: "the Deployment's cause"},
		"its image is not there":                  {look: Observation{CSV: csv(installing, "", "waits"), Rollout: rollout("ImagePullFailed", no, ""), Warnings: map[string]string{}}, trouble: "the ready condition's cause"},
		"it serves another certificate":           {look: Observation{CSV: csv(installing, "", "waits"), Rollout: rollout("", no, "ForeignCertificate")}, trouble: "the webhook's cause"},
		"no container has the port":               {look: Observation{CSV: csv(installing, "", "waits"), Rollout: rollout("", no, "NoSuchPort")}, trouble: "the webhook's cause", certain: true},
		"an account is missing":                   {look: Observation{CSV: csv(pending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "ServiceAccount shop is missing"), Rollout: rollout("", no, "")}, trouble: "ServiceAccount shop is missing"},
		"it failed":                               {look: Observation{CSV: csv(failed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, "a rule is forbidden"), Rollout: rollout("", no, "")}, trouble: "a rule is forbidden", certain: true},
		"it failed, perhaps only until now":       {look: Observation{CSV: csv(failed, operatorsv1alpha1.CSVReasonNoOperatorGroup, "no group"), Rollout: rollout("", no, ""), MayBeStale: true}, trouble: "no group"},
		"it succeeded":                            {look: Observation{CSV: csv(succeeded, "", ""), Rollout: rollout("", yes, "")}, done: true},
		"it succeeded, and is being changed":      {look: Observation{CSV: csv(succeeded, "", ""), Rollout: rollout("Updating", yes, "")}},
		"it succeeded, and a webhook is lost":     {look: Observation{CSV: csv(succeeded, "", ""), Rollout: rollout("WaitingForReplicas", no, "")}},
		"it has no webhooks, and no manager's":    {look: Observation{CSV: &operatorsv1alpha1.ClusterServiceVersion{Status: operatorsv1alpha1.ClusterServiceVersionStatus{Phase: succeeded}}}, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := ProgressOf(test.look)
			if p.Done != test.done || p.Permanent != test.certain || (test.trouble == "") != (p.Problem == "") || !strings.Contains(p.Problem, test.trouble) {
				t.Errorf("progress: %+v, want done %t, certain %t, trouble %q", p, test.done, test.certain, test.trouble)
			}
		})
	}
}

// A message of a Deployment has the error of a registry, which is long: the problem has it once. A warning of its pods
// is never left out.
func TestProblemIsNotRepeated(t *testing.T) {
	const cause = "deployment \"shop\" not available: no image"
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Name: "shop.v1"}}
	csv.Status.Phase, csv.Status.Reason, csv.Status.Message = operatorsv1alpha1.CSVPhaseInstalling, "InstallWaiting", "waiting for deployment shop"
	look := Observation{CSV: csv, Warnings: map[string]string{}, Rollout: &managerv1alpha1.WebhookRollout{Status: managerv1alpha1.WebhookRolloutStatus{
		Conditions:  []metav1.Condition{{Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionFalse, Message: "webhook v.shop.io is Waiting: " + cause}},
		Deployments: []managerv1alpha1.DeploymentStatus{{Name: "shop", State: managerv1alpha1.DeploymentProgressing, Reason: "ImagePullFailed", Message: cause}},
	}}}
	installtest.Same(t, "problem", "shop.v1 is Installing (InstallWaiting): waiting for deployment shop; "+cause, ProgressOf(look).Problem)
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
	p := ProgressOf(Observation{CSV: csv, Rollout: rollout})
	if line := "APIService v1.shop.io is Unreachable: it does not answer"; p.Done || !strings.Contains(strings.Join(p.Lines, "\n"), line) {
		t.Errorf("done %t, lines %q, want %q", p.Done, p.Lines, line)
	}
}

// Awaited versions are served when their webhook serves, or when its own pods may be what waits for them.
func TestServingAwaitedVersions(t *testing.T) {
	const available, progressing = managerv1alpha1.DeploymentAvailable, managerv1alpha1.DeploymentProgressing
	const registered, waits = managerv1alpha1.WebhookRegistered, managerv1alpha1.WebhookWaiting
	for name, test := range map[string]struct {
		deployment managerv1alpha1.DeploymentState
		reason     string
		webhook    managerv1alpha1.WebhookState
		seen       int64
		caBundle   string
		converts   bool
		awaits     string
	}{
		"it serves":                       {available, "", registered, 2, "CA", true, ""},
		"it was not reconciled":           {available, "", registered, 1, "CA", false, ""},
		"the version before serves":       {progressing, "Updating", registered, 2, "CA", false, ""},
		"the conversion is not written":   {available, "", waits, 2, "", false, ""},
		"a client removed it":             {available, "", registered, 2, "", false, ""},
		"its pods run and do not answer":  {progressing, "PodNotReady", waits, 2, "", false, "manager"},
		"its pods end again and again":    {progressing, "CrashLoopBackOff", waits, 2, "", false, "manager"},
		"its image is not there":          {progressing, "ImagePullFailed", waits, 2, "", false, ""},
		"its pods are yet to be created":  {progressing, "WaitingForReplicas", waits, 2, "", false, ""},
		"a webhook of others is deployed": {managerv1alpha1.DeploymentPending, "EarlierDeployment", waits, 2, "", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			csv := converting()
			csv.Generation = 2
			l := Observation{CSV: csv, Rollout: &managerv1alpha1.WebhookRollout{Status: managerv1alpha1.WebhookRolloutStatus{
				ObservedGeneration: test.seen,
				Deployments: []managerv1alpha1.DeploymentStatus{{Name: "manager", State: test.deployment, Reason: test.reason, Webhooks: []managerv1alpha1.WebhookStatus{
					{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, State: registered},
					{Type: operatorsv1alpha1.ConversionWebhook, CRDs: []string{"things.example.com"}, State: test.webhook, Reason: managerv1alpha1.ReasonServing},
				}}},
			}}}
			installtest.Same(t, "converts", test.converts, l.Converts(live(test.caBundle, "v1")))
			installtest.Same(t, "may wait", test.awaits, l.WaitsForVersions("things.example.com"))
			if l.Converts(crd("v1")) || l.WaitsForVersions("others.example.com") != "" {
				t.Error("another definition is taken for this one")
			}
		})
	}
}

func TestLiveWebhooks(t *testing.T) {
	for name, test := range map[string]struct {
		states []managerv1alpha1.WebhookState
		want   string
	}{
		"none":         {nil, ""},
		"one":          {[]managerv1alpha1.WebhookState{"Registered"}, ", its webhook is live"},
		"two":          {[]managerv1alpha1.WebhookState{"Registered", "Registered"}, ", its webhooks are live"},
		"one disabled": {[]managerv1alpha1.WebhookState{"Disabled"}, ", live webhooks: 0 of 1; disabled by the config of Subscription shop: a"},
		"each":         {[]managerv1alpha1.WebhookState{"Disabled", "Registered", "Pending"}, ", live webhooks: 1 of 3; disabled by the config of Subscription shop: a"},
		"a change":     {[]managerv1alpha1.WebhookState{"Registered", "Pending"}, ", live webhooks: 1 of 2"},
	} {
		rollout := &managerv1alpha1.WebhookRollout{}
		rollout.Status.Subscription = &managerv1alpha1.SubscriptionReference{Name: "shop"}
		var all []managerv1alpha1.WebhookStatus
		for n, state := range test.states {
			all = append(all, managerv1alpha1.WebhookStatus{GenerateName: string(rune('a' + n)), State: state})
		}
		rollout.Status.Deployments = []managerv1alpha1.DeploymentStatus{{Webhooks: all}}
		installtest.Same(t, name, test.want, LiveWebhooks(rollout))
	}
}
