package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/report"
)

// upgradeTo returns the cluster in which shop.v2 replaces the installed shop.v1.
func (c *cluster) upgradeTo(webhooks ...operatorsv1alpha1.WebhookDescription) *cluster {
	c.t.Helper()
	older := c.CSV
	older.Status.Phase = operatorsv1alpha1.CSVPhaseReplacing
	next := clusterWith(c.t, webhooks...)
	next.CSV.Name, next.CSV.UID = "shop.v2", "uid-of-shop-v2"
	next.Observed, next.now, next.uids = c.Observed, c.now, c.uids
	next.Upgrade = Upgrade{From: []*operatorsv1alpha1.ClusterServiceVersion{older}}
	return next
}

// reconcileLater reconciles after two seconds, with some Deployments available.
func (c *cluster) reconcileLater(deployments ...string) Plan {
	c.t.Helper()
	c.wait(2 * time.Second)
	for _, d := range deployments {
		c.becomeAvailable(d)
	}
	c.Upgrade.Started = c.Upgrade.Started || lineage.Began(c.CSV)
	return c.reconcile()
}

func named(generateName string) func(*operatorsv1alpha1.WebhookDescription) {
	return func(d *operatorsv1alpha1.WebhookDescription) { d.GenerateName = generateName }
}

func (c *cluster) registered() []string {
	lines := lists.Map(c.Observed.registrations(), func(r registration.Registration) string {
		return strings.Join([]string{r.Object.GetLabels()["olm.webhook-description-generate-name"], r.Object.GetLabels()["olm.owner"], registration.ServiceOf(r.Object).Name}, " ")
	})
	slices.Sort(lines)
	return lines
}

func rollsOut(step string) bool { return strings.HasPrefix(step, "update Deployment shop/server") }

// All changes of webhooks in an upgrade.
func TestUpgrade(t *testing.T) {
	c := installed(t,
		webhookOf("server", named("same.example.com")), webhookOf("server", named("changed.example.com")),
		webhookOf("server", named("gone.example.com")), webhookOf("before", named("moved.example.com")),
	).upgradeTo(
		webhookOf("server", named("same.example.com")), webhookOf("server", named("changed.example.com"), atPath("/v2")),
		webhookOf("server", named("new.example.com")), webhookOf("after", named("moved.example.com")),
	)
	uid := c.validatingNamed("same.example.com").UID

	steps := stepsOf(c.reconcileLater())
	installtest.Same(t, "the Deployment is rolled out before API servers know that the webhooks are unregistered", false, slices.ContainsFunc(steps, rollsOut))
	expect(t, c.registered(), "moved.example.com shop.v1 before-service", "same.example.com shop.v2 server-service")

	steps = stepsOf(c.reconcileLater())
	installtest.Same(t, "the Deployment is rolled out", true, slices.ContainsFunc(steps, rollsOut))
	c.becomeUnavailable("server")
	c.reconcileLater()
	expect(t, c.registered(), "moved.example.com shop.v1 before-service", "same.example.com shop.v2 server-service")

	c.reconcileLater("server")
	c.reconcileLater()
	expect(t, c.registered(), "changed.example.com shop.v2 server-service", "moved.example.com shop.v1 before-service",
		"new.example.com shop.v2 server-service", "same.example.com shop.v2 server-service")

	for range 4 {
		c.reconcileLater("after")
	}
	expect(t, c.registered(), "changed.example.com shop.v2 server-service", "moved.example.com shop.v2 after-service",
		"new.example.com shop.v2 server-service", "same.example.com shop.v2 server-service")
	c.expectPhase("the new version", succeeded)
	installtest.Same(t, "the UID of the unchanged webhook", uid, c.validatingNamed("same.example.com").UID)
	installtest.Same(t, "the number of owners of the Service while both versions exist", 2, len(c.Observed.Services["server-service"].OwnerReferences))
}

// A webhook that moves to a Deployment of both versions waits until the rollout of the Deployment
// is complete: pods of the previous version do not serve the webhook. This also applies if the
// previous version has registered it.
func TestUpgradeWaitsForTheRollout(t *testing.T) {
	c := installed(t, webhookOf("server"), webhookOf("before", named("moved.example.com"))).
		upgradeTo(webhookOf("server"), webhookOf("server", named("moved.example.com")))
	c.Upgrade.ReplacementUnknown = true
	c.reconcileLater()
	if before := report.ByIdentity(c.Previous)[csvspec.Identity{Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: "moved.example.com"}]; !isRegistered(*before) {
		t.Fatalf("the new version does not report the webhook: %+v", before)
	}
	c.Upgrade.ReplacementUnknown = false
	for range 4 {
		c.reconcileLater()
	}
	expect(t, c.registered(), "moved.example.com shop.v1 before-service", "v.server.example.com shop.v2 server-service")
	for range 4 {
		c.reconcileLater("server")
	}
	expect(t, c.registered(), "moved.example.com shop.v2 server-service", "v.server.example.com shop.v2 server-service")
}

// A version that must not start its upgrade writes nothing, and reports what it waits for.
func TestUpgradeWaits(t *testing.T) {
	hook := webhookOf("server")
	tests := map[string]struct {
		change func(*cluster)
		phase  string
	}{
		"for the previous version": {func(c *cluster) { c.Upgrade.ReplacementUnknown = true },
			"Pending RequirementsUnknown: requirements not yet checked: waits for shop.v1 to be ready for replacement"},
		"for a failed version": {func(c *cluster) { c.Upgrade.NotReady = "shop.v1 has failed" },
			"Pending RequirementsUnknown: requirements not yet checked: shop.v1 has failed"},
		"for the operator": {func(c *cluster) { c.Upgrade.NotUpgradeable = "The operator is not upgradeable: busy" },
			"Pending OperatorConditionNotUpgradeable: operator is not upgradeable: The operator is not upgradeable: busy"},
		"for another selector": {func(c *cluster) {
			c.spec("server").Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}
			c.spec("server").Spec.Template.Labels["app"] = "other"
		}, "Pending RequirementsNotMet: one or more requirements couldn't be found: deployment server exists with another selector, which cannot be changed: give the Deployment of shop.v2 another name, or the same selector"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := installed(t, hook).upgradeTo(hook)
			test.change(c)
			plan := c.reconcile()
			installtest.Same(t, "it writes", []string(nil), stepsOf(plan))
			phases := phasesOf(plan)
			installtest.Same(t, "the last phase", test.phase, phases[len(phases)-1])
			expect(t, c.registered(), "v.server.example.com shop.v1 server-service")
		})
	}
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	installtest.Same(t, "registrations", want, got)
}

// A deleted version whose end is refused reports the refusal, and nothing of its former webhooks.
func TestUnregisteredStatus(t *testing.T) {
	previous := managerv1alpha1.WebhookRolloutStatus{
		Created:     []managerv1alpha1.CreatedObject{{UID: "1"}},
		Deployments: []managerv1alpha1.DeploymentStatus{{Name: "manager"}}, Registrations: 1, ReadyRegistrations: 1,
		Conditions: []metav1.Condition{
			{Type: managerv1alpha1.ConditionReady, Status: metav1.ConditionTrue}, {Type: managerv1alpha1.ConditionConversionInUse, Status: metav1.ConditionTrue},
		},
	}
	const why = "the API server refuses to delete ClusterRole shop"
	status := Unregistered(installtest.Operator(nil), why, previous, time.Unix(1_000_000, 0))
	refused := meta.FindStatusCondition(status.Conditions, managerv1alpha1.ConditionUnregistrationRefused)
	if refused == nil || refused.Message != why || !meta.IsStatusConditionFalse(status.Conditions, managerv1alpha1.ConditionReady) || len(status.Conditions) != 2 {
		t.Errorf("conditions %+v", status.Conditions)
	}
	if len(status.Deployments) > 0 || status.Registrations > 0 || len(status.Created) != 1 {
		t.Errorf("status %+v", status)
	}
}

// What only previous versions own is deleted with them.
func TestUpgradeEnds(t *testing.T) {
	u := Upgrade{From: []*operatorsv1alpha1.ClusterServiceVersion{{ObjectMeta: metav1.ObjectMeta{UID: "v1"}}, {ObjectMeta: metav1.ObjectMeta{UID: "v2"}}}}
	for name, test := range map[string]struct {
		owners []types.UID
		want   bool
	}{
		"no owner":                      {nil, false},
		"a previous version":            {[]types.UID{"v2"}, true},
		"both previous versions":        {[]types.UID{"v1", "v2"}, true},
		"this version":                  {[]types.UID{"v3"}, false},
		"a previous and this version":   {[]types.UID{"v1", "v3"}, false},
		"a previous version and others": {[]types.UID{"other", "v1"}, false},
	} {
		owners := lists.Map(test.owners, func(uid types.UID) metav1.OwnerReference { return metav1.OwnerReference{UID: uid} })
		installtest.Same(t, name, test.want, u.Ends(&metav1.ObjectMeta{OwnerReferences: owners}))
	}
}
