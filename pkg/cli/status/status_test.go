package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// rollouts are two: one with a webhook of each sort of state, and one that is contested.
func rollouts() []managerv1alpha1.WebhookRollout {
	ago := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-d)} }
	return []managerv1alpha1.WebhookRollout{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"},
		Status: managerv1alpha1.WebhookRolloutStatus{Deployments: []managerv1alpha1.DeploymentStatus{{
			Name: "manager",
			Certificate: &managerv1alpha1.CertificateStatus{Provider: "manager", Phase: "Stable", NotAfter: ago(-60 * 24 * time.Hour), Propagation: &managerv1alpha1.CertificatePropagation{
				Method: managerv1alpha1.PropagationSettleTime, APIServers: 3, NotReached: []string{"192.0.2.1:6443"}, Reason: "no route",
			}},
			Webhooks: []managerv1alpha1.WebhookStatus{
				{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.shop.io", Configuration: "v.shop.io-x", State: managerv1alpha1.WebhookRegistered, Message: "serves", LastTransitionTime: ago(time.Hour)},
				{Type: operatorsv1alpha1.ConversionWebhook, GenerateName: "c.shop.io", CRDs: []string{"a.shop.io", "b.shop.io"}, State: managerv1alpha1.WebhookUnreachable, Reason: "NoReadyEndpoints", Message: "no pod is ready", LastTransitionTime: ago(time.Minute)},
			},
			APIServices: []managerv1alpha1.APIServiceStatus{{Name: "v1.shop.io", State: managerv1alpha1.WebhookUnreachable, Reason: "FailedDiscoveryCheck", Message: "it does not answer", LastTransitionTime: ago(time.Minute)}},
		}, {
			Name:        "worker",
			Certificate: &managerv1alpha1.CertificateStatus{Provider: "manager", Phase: "Bootstrap", Message: "the Secret is another client's"},
			Webhooks:    []managerv1alpha1.WebhookStatus{{Type: operatorsv1alpha1.MutatingAdmissionWebhook, GenerateName: "m.shop.io", State: managerv1alpha1.WebhookBlocked, Reason: "Refused", Message: "a quota"}},
		}}},
	}, {
		ObjectMeta: metav1.ObjectMeta{Namespace: "bank", Name: "bank.v1"},
		Status: managerv1alpha1.WebhookRolloutStatus{
			Conditions: []metav1.Condition{{Type: "Contested", Status: metav1.ConditionTrue, Reason: "Contested", Message: "argocd changes it"}},
			Deployments: []managerv1alpha1.DeploymentStatus{{
				Name:        "manager",
				Certificate: &managerv1alpha1.CertificateStatus{Provider: "manager", Phase: "Stable", NotAfter: ago(time.Hour)},
				Webhooks:    []managerv1alpha1.WebhookStatus{{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.bank.io", Configuration: "v.bank.io-x", State: managerv1alpha1.WebhookRegistered}},
			}},
		},
	}}
}

// leaseOf is a manager's, renewed some time ago.
func leaseOf(namespace, holder string, ago time.Duration) coordinationv1.Lease {
	return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "olm-webhook-manager"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &holder, LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: now.Add(-ago)},
	}}
}

// facts have, in addition to the registrations of the rollouts, one that points to nothing, one
// that works and has no owner, and one that was left behind.
func facts() Facts {
	shop, gone, bank := types.NamespacedName{Namespace: "shop", Name: "shop.v1"}, types.NamespacedName{Namespace: "shop", Name: "shop.v0"}, types.NamespacedName{Namespace: "bank", Name: "bank.v1"}
	service := types.NamespacedName{Namespace: "shop", Name: "manager-service"}
	return Facts{Rollouts: rollouts(), Leases: []coordinationv1.Lease{leaseOf("system", "a", 10*time.Second)}, Facts: doctor.Facts{
		Owners:   map[types.NamespacedName]bool{shop: true, bank: true},
		Services: map[types.NamespacedName]doctor.Service{service: {By: route.ByClusterIP, Ports: map[int32]int{443: 1}, Ready: 1, Owner: shop}},
		Webhooks: []doctor.Webhook{
			{Kind: doctor.Conversion, Object: "a.shop.io", Service: service, Port: 443, Fails: true},
			{Kind: doctor.Validating, Object: "v.shop.io-x", Name: "v.shop.io", Service: service, Port: 443, Owner: shop},
			{Kind: doctor.Validating, Object: "v.bank.io-x", Name: "v.bank.io", Service: service, Port: 443, Owner: bank},
			{Kind: doctor.Validating, Object: "old", Name: "v.shop.io", Service: service, Port: 443, Owner: gone, Fails: true},
			{Kind: doctor.Mutating, Object: "lost", Name: "m.lost.io", Service: types.NamespacedName{Namespace: "lost", Name: "s"}, Port: 443, Fails: true},
			{Kind: doctor.Validating, Object: "outside", Name: "policy", URL: "https://policy.example.com"},
			{Kind: doctor.APIService, Object: "v1.metrics.io", Service: service, Port: 443, Fails: true, Available: metav1.ConditionTrue},
			{Kind: doctor.APIService, Object: "v1.refused.io", Service: service, Port: 443, Fails: true, Available: metav1.ConditionFalse, Report: "it refuses connections"},
			{Kind: doctor.APIService, Object: "v1.unknown.io", Service: service, Port: 443, Fails: true},
			{Kind: doctor.APIService, Object: "v1.lost.io", Service: types.NamespacedName{Namespace: "lost", Name: "s"}, Port: 443, Fails: true},
		},
	}}
}

func TestPrint(t *testing.T) {
	for name, test := range map[string]struct {
		namespace string
		wide      bool
		want      string
	}{
		"all": {"", false, `
NAMESPACE   CSV       WEBHOOK     TYPE         STATE         SINCE    CERTIFICATE    PROBLEM
bank        bank.v1   v.bank.io   Validating   Registered    <none>   expired 60m ago  argocd changes it
shop        shop.v1   v1.shop.io   APIService   Unreachable   60s      60d            it does not answer
shop        shop.v1   v.shop.io   Validating   Registered    60m      60d            <none>
shop        shop.v1   c.shop.io   Conversion   Unreachable   60s      60d            no pod is ready
shop        shop.v1   m.shop.io   Mutating     Blocked       <none>   <none>         a quota

Registrations that belong to no ClusterServiceVersion:
KIND                             NAME      WEBHOOK     CALLS                        POLICY   PROBLEM
ValidatingWebhookConfiguration   old       v.shop.io   shop/manager-service         Fail     left behind by ClusterServiceVersion shop/shop.v0, which no longer exists
MutatingWebhookConfiguration     lost      m.lost.io   lost/s                       Fail     Service lost/s does not exist
ValidatingWebhookConfiguration   outside   policy      https://policy.example.com   Ignore   <none>
APIService                       v1.refused.io   <none>   shop/manager-service   Fail   API servers report that they cannot call it: it refuses connections
APIService                       v1.unknown.io   <none>   shop/manager-service   Fail   API servers do not report whether they can call it
APIService                       v1.lost.io   <none>   lost/s                       Fail     Service lost/s does not exist
`},
		"one namespace, wide": {"shop", true, `
NAMESPACE   CSV       WEBHOOK     TYPE         STATE         SINCE    CERTIFICATE   PROVIDER   PHASE   PROPAGATION    REGISTRATION          REASON             PROBLEM
shop        shop.v1   v1.shop.io   APIService   Unreachable   60s      60d           manager    Stable   SettleTime (3)   v1.shop.io            FailedDiscoveryCheck   it does not answer
shop        shop.v1   v.shop.io   Validating   Registered    60m      60d           manager    Stable   SettleTime (3)   v.shop.io-x           <none>             <none>
shop        shop.v1   c.shop.io   Conversion   Unreachable   60s      60d           manager    Stable   SettleTime (3)   a.shop.io,b.shop.io   NoReadyEndpoints   no pod is ready
shop        shop.v1   m.shop.io   Mutating     Blocked       <none>   <none>        manager    Bootstrap   <none>   <none>                Refused            a quota
shop/shop.v1 manager: the last rotation used SettleTime (3); API servers that did not answer: 192.0.2.1:6443; no route
`},
		"an empty namespace": {"desert", false, `
NAMESPACE   CSV   WEBHOOK   TYPE   STATE   SINCE   CERTIFICATE   PROBLEM
`},
	} {
		t.Run(name, func(t *testing.T) {
			var printed strings.Builder
			Of(facts(), test.namespace, now).Print(output.New(&printed), test.wide, now)
			installtest.Same(t, "printed", installtest.Words(strings.TrimPrefix(test.want, "\n")), installtest.Words(printed.String()))
		})
	}
}

func TestNames(t *testing.T) {
	want := []string{"webhookrollout.olm-webhook-manager.io/bank.v1", "webhookrollout.olm-webhook-manager.io/shop.v1"}
	installtest.Same(t, "names", want, Of(facts(), "", now).Names())
}

func TestSame(t *testing.T) {
	first, again, other := Of(facts(), "", now), Of(facts(), "", now), Of(facts(), "shop", now)
	installtest.Same(t, "a status is the same as itself", true, first.Same(again))
	installtest.Same(t, "a status is the same as another", false, first.Same(other))
}

// What may not be read is not reported as missing.
func TestUnseenRegistrations(t *testing.T) {
	f := facts()
	f.Facts, f.RegistrationsUnread = doctor.Facts{}, "customresourcedefinitions is forbidden"
	f.CSVs = []operatorsv1alpha1.ClusterServiceVersion{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "other.v1"},
		Spec:       operatorsv1alpha1.ClusterServiceVersionSpec{WebhookDefinitions: []operatorsv1alpha1.WebhookDescription{{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "v.other.io"}}},
		Status:     operatorsv1alpha1.ClusterServiceVersionStatus{Phase: operatorsv1alpha1.CSVPhaseSucceeded},
	}}
	s := Of(f, "shop", now)
	states := lists.Map(s.Webhooks, func(w Webhook) string { return w.Name + " " + w.State })
	installtest.Among(t, states, "v.shop.io Registered", "c.shop.io Unreachable", "v.other.io Unknown")
	var printed strings.Builder
	s.Print(output.New(&printed), false, now)
	if want := "was not checked: customresourcedefinitions is forbidden\n"; !strings.HasSuffix(printed.String(), want) {
		t.Errorf("it does not end with %q:\n%s", want, printed.String())
	}
}

// A status without webhooks names the kind that the cluster does not know.
func TestNotInstalled(t *testing.T) {
	var f Facts
	f.NoRollouts = true
	installtest.Contains(t, notInstalled(f), "kind WebhookRollout")
	f.NoCSVs = true
	installtest.Contains(t, notInstalled(f), "kind ClusterServiceVersion")
}

func TestOpenWebhook(t *testing.T) {
	f := facts()
	until := metav1.NewTime(now.Add(time.Hour))
	w := &f.Rollouts[0].Status.Deployments[0].Webhooks[0]
	w.State, w.Reason, w.Message = managerv1alpha1.WebhookUnreachable, "NoReadyEndpoints", "no pod is ready"
	w.FailOpen = &managerv1alpha1.FailOpen{State: managerv1alpha1.FailOpenPartly, Openings: []managerv1alpha1.Opening{{From: metav1.NewTime(now), Until: &until}}}
	shown := func() Webhook {
		all := Of(f, "shop", now).Webhooks
		return all[slices.IndexFunc(all, func(w Webhook) bool { return w.Name == "v.shop.io" })]
	}
	installtest.Same(t, "open", "Partly", shown().Open)
	installtest.Same(t, "the problem", "it is open since 2026-05-04T12:00:00Z: requests of nodes and about objects in its namespace pass that it does not answer, until 2026-05-04T13:00:00Z at the latest; no pod is ready", shown().Problem)
	w.FailOpen.Openings[0].ClosedBy = managerv1alpha1.ClosedServed
	installtest.Same(t, "open when it is closed", "", shown().Open)
}

// Calls from an API server that fail are the problem of their webhook alone.
func TestUnreachableFromAPIServer(t *testing.T) {
	f := facts()
	f.Rollouts[0].Status.Deployments[0].Webhooks[0].UnreachableFrom = []managerv1alpha1.UnreachableFrom{{APIServer: "192.0.2.2:6443", Error: "code 503", StartTime: metav1.NewTime(now)}}
	f.Rollouts[1].Status.Conditions = []metav1.Condition{{Type: managerv1alpha1.ConditionCallsFail, Status: metav1.ConditionUnknown, Message: "not known"}}
	s := Of(f, "", now)
	problems := lists.Map(s.Webhooks, func(w Webhook) string { return w.Name + ": " + w.Reason + " " + w.Problem + w.CallsUnknown })
	installtest.Same(t, "problems", []string{
		"v.bank.io:  not known",
		"v1.shop.io: FailedDiscoveryCheck it does not answer",
		"v.shop.io: CallsFail calls from API server 192.0.2.2:6443 fail since 2026-05-04T12:00:00Z: code 503",
		"c.shop.io: NoReadyEndpoints no pod is ready", "m.shop.io: Refused a quota",
	}, problems)
	for wide, want := range map[bool]bool{true: true, false: false} {
		var printed strings.Builder
		s.Print(output.New(&printed), wide, now)
		installtest.Same(t, "what is not known is printed", want, strings.Contains(printed.String(), "\nbank/bank.v1: not known\n"))
	}
}
