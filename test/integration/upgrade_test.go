package integration

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// versions are an operator's v1 and v2, with a webhook for each fate in an upgrade: same, changed, gone, moved and new.
func versions() (v1, v2 *operatorsv1alpha1.ClusterServiceVersion) {
	v1, v2 = csv("operator.v1", "server", "before"), csv("operator.v2", "server", "after")
	v2.Spec.Replaces = "operator.v1"
	v1.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{
		webhook("same.example.com", "server"), webhook("changed.example.com", "server"), webhook("gone.example.com", "server"), webhook("moved.example.com", "before"),
	}
	v2.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{
		webhook("same.example.com", "server"), webhook("changed.example.com", "server"), webhook("new.example.com", "server"), webhook("moved.example.com", "after"),
	}
	v2.Spec.WebhookDefinitions[1].WebhookPath = new("/v2")
	return v1, v2
}

// upgraded are the registrations of the v2 of versions, under its name.
func upgraded(v2 string) []string {
	return []string{
		"changed.example.com " + v2 + " server-service /v2", "moved.example.com " + v2 + " after-service /validate",
		"new.example.com " + v2 + " server-service /validate", "same.example.com " + v2 + " server-service /validate",
	}
}

// An unchanged webhook keeps its registration and its certificate; the old version is deleted
// when the new one has succeeded, through OLM's phases, and leaves nothing.
func TestUpgrade(t *testing.T) {
	e := newOperatorEnv(t)
	e.manage()
	v1, v2 := versions()
	e.install(v1)
	unchanged, secret := e.registration("same.example.com"), certificate(e)

	e.install(v2)
	noLongerExist(e, "operator.v1")
	ownNothing(e, "operator.v1")
	expect(t, webhooks(e), upgraded("operator.v2")...)
	same(t, "the uid of the unchanged webhook", e.registration("same.example.com").UID, unchanged.UID)
	if now := certificate(e); now.UID != secret.UID || !bytes.Equal(now.Data[corev1.TLSCertKey], secret.Data[corev1.TLSCertKey]) {
		t.Error("the certificate was rotated")
	}
}

// While a new version is installed, unchanged webhooks stay in service, and changed ones are unregistered before the
// Deployment is rolled out. When the new version is deleted, the old one is as before.
func TestUpgradeThatFails(t *testing.T) {
	e := newOperatorEnv(t, "server", "after")
	e.manage()
	v1, v2 := versions()
	e.create(v1)
	e.eventually("the first Deployment exists", func() (bool, any) { return e.deployment("server") != nil, nil })
	serverStarts(e)
	before, unchanged := webhooks(e), e.registration("same.example.com")

	e.create(v2)
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVReasonBeingReplaced)
	e.eventually("the Deployment is rolled out", func() (bool, any) { return e.deployment("server").Labels["olm.owner"] == "operator.v2", nil })
	setAvailable(e, "server", false)
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	expect(t, webhooks(e), "moved.example.com operator.v1 before-service /validate", "same.example.com operator.v2 server-service /validate")

	e.uninstall("operator.v2")
	e.eventually("the Deployment is the old version's", func() (bool, any) { return e.deployment("server").Labels["olm.owner"] == "operator.v1", nil })
	serverStarts(e)
	expect(t, webhooks(e), before...)
	same(t, "the uid of the unchanged webhook", e.registration("same.example.com").UID, unchanged.UID)
	ownNothing(e, "operator.v2")
}

// A new version may fail with all of its webhooks in service, because it lacks a Deployment that
// has none. When it is deleted, those of the old version are registered as they were.
func TestUpgradeThatFailsLate(t *testing.T) {
	e := newOperatorEnv(t, "last")
	e.manage()
	v1, v2 := versions()
	e.install(v1)
	before, unchanged := webhooks(e), e.registration("same.example.com")

	v2.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = append(v2.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, deploymentSpec("last"))
	e.create(v2)
	e.eventually("its webhooks are in service", func() (bool, any) { return slices.Equal(webhooks(e), upgraded("operator.v2")), webhooks(e) })
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)

	e.uninstall("operator.v2")
	e.succeeds("operator.v1")
	e.eventually("the webhooks are the previous ones", func() (bool, any) { return slices.Equal(webhooks(e), before), webhooks(e) })
	same(t, "the uid of the unchanged webhook", e.registration("same.example.com").UID, unchanged.UID)
}

// A new version that has become active, and unregistered a webhook, may fail half-way. The
// administrator then has a third one replace it, which continues with what is the same all along.
func TestUpgradeFailsForward(t *testing.T) {
	e := newOperatorEnv(t, "server", "stuck")
	e.manage(func(o *controller.Options) { o.Rollout.InstallTimeout = time.Second })
	v1, v2 := versions()
	_, v3 := versions()
	v2.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[1] = deploymentSpec("stuck")
	v2.Spec.WebhookDefinitions[3].DeploymentName = "stuck"
	v3.Name, v3.Spec.Replaces = "operator.v3", "operator.v2"
	e.create(v1)
	rolledOut(e, "server", "operator.v1", true)
	e.succeeds("operator.v1")
	unchanged, secret := e.registration("same.example.com"), certificate(e)

	e.create(v2)
	rolledOut(e, "server", "operator.v2", false)
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed)
	expect(t, webhooks(e), "moved.example.com operator.v1 before-service /validate", "same.example.com operator.v2 server-service /validate")

	e.create(v3)
	e.reachesSaying("operator.v3", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsUnknown, "operator.v2, which it replaces, has failed (InstallCheckFailed)")
	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) {
		g.Spec.UpgradeStrategy = operatorsv1.UpgradeStrategyUnsafeFailForward
	})
	rolledOut(e, "server", "operator.v3", true)
	e.succeeds("operator.v3")
	noLongerExist(e, "operator.v1", "operator.v2")
	ownNothing(e, "operator.v1", "operator.v2")
	expect(t, webhooks(e), upgraded("operator.v3")...)
	same(t, "the uid of the unchanged webhook", e.registration("same.example.com").UID, unchanged.UID)
	if now := certificate(e); now.UID != secret.UID || !bytes.Equal(now.Data[corev1.TLSCertKey], secret.Data[corev1.TLSCertKey]) {
		t.Error("the certificate was rotated")
	}
}

// An upgrade waits while finalizers of another client keep a changed registration. It names them, and writes nothing.
// After the finalizers are removed, it waits for the API servers, and continues.
func TestUpgradeWaitsForKeptRegistration(t *testing.T) {
	e := newOperatorEnv(t)
	m := e.manage()
	v1, v2 := versions()
	e.install(v1)
	configuration := e.registration("changed.example.com").Name
	setFinalizers(e, configuration, `["example.com/kept"]`)

	e.create(v2)
	message := "finalizers keep ValidatingWebhookConfiguration " + configuration + " from being deleted: example.com/kept. Remove them"
	e.eventually("the finalizers are reported", func() (bool, any) {
		status, refused := e.get("operator.v2").Status, meta.FindStatusCondition(e.rollout("operator.v2").Conditions, managerv1alpha1.ConditionUnregistrationRefused)
		return strings.Contains(csvstatus.Explained(status), message) && refused != nil && strings.Contains(refused.Message, message), status
	})
	same(t, "the state of the webhook", webhookStatus(e, "operator.v2", "changed.example.com").State, managerv1alpha1.WebhookRegistered)
	m.settles("operator.v2")
	same(t, "the version of the Deployment", e.deployment("server").Labels["olm.owner"], "operator.v1")

	setFinalizers(e, configuration, "null")
	e.succeeds("operator.v2")
	noLongerExist(e, "operator.v1")
	expect(t, webhooks(e), upgraded("operator.v2")...)
}

// has waits until a Deployment is a version's. Its status is the previous one.
func has(e *env, deployment, version string) {
	e.Helper()
	e.eventually("deployment "+deployment+" is rolled out by "+version, func() (bool, any) {
		d := e.deployment(deployment)
		return d != nil && d.Labels["olm.owner"] == version, d
	})
}

// rolledOut waits until a Deployment is a version's, and has its pods answer, or none.
func rolledOut(e *env, deployment, version string, available bool) {
	e.Helper()
	has(e, deployment, version)
	setAvailable(e, deployment, available)
}

func TestUpgradeWaits(t *testing.T) {
	tests := map[string]struct {
		prepare func(e *env, v1, v2 *operatorsv1alpha1.ClusterServiceVersion)
		reason  operatorsv1alpha1.ConditionReason
		message string
		release func(e *env)
	}{
		"for a version that has failed": {
			func(_ *env, v1, _ *operatorsv1alpha1.ClusterServiceVersion) {
				v1.Spec.WebhookDefinitions[0].Rules[0].APIGroups = []string{"*"}
			},
			operatorsv1alpha1.CSVReasonRequirementsUnknown, "has failed (InvalidWebhookDescription)",
			func(e *env) {
				editGroup(e, "og", func(g *operatorsv1.OperatorGroup) {
					g.Spec.UpgradeStrategy = operatorsv1.UpgradeStrategyUnsafeFailForward
				})
			},
		},
		"for an operator that minds": {
			func(e *env, _, _ *operatorsv1alpha1.ClusterServiceVersion) { mind(e, "False") },
			operatorsv1alpha1.CSVReasonOperatorConditionNotUpgradeable, "operator is not upgradeable: The operator is not upgradeable: busy",
			func(e *env) { mind(e, "True") },
		},
		"for a version that is not installed": {
			func(_ *env, v1, _ *operatorsv1alpha1.ClusterServiceVersion) {
				v1.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name = "unavailable"
				v1.Spec.WebhookDefinitions = nil
			},
			operatorsv1alpha1.CSVReasonRequirementsUnknown, "operator.v1, which it replaces, is not installed yet",
			func(e *env) { setAvailable(e, "unavailable", true) },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t, "unavailable")
			e.manage()
			v1, v2 := versions()
			test.prepare(e, v1, v2)
			e.create(v1)
			e.create(v2)
			e.eventually("the new version reports what it waits for", func() (bool, any) {
				s := e.get("operator.v2").Status
				return s.Phase == operatorsv1alpha1.CSVPhasePending && s.Reason == test.reason && strings.Contains(csvstatus.Explained(s), test.message), csvstatus.Explained(s)
			})
			none(t, "objects adopted", ownedBy(e, "operator.v2"))
			test.release(e)
			e.succeeds("operator.v2")
			noLongerExist(e, "operator.v1")
		})
	}
}

// A version that is itself replaced before it was installed does not block
// for ever; one that is skipped is deleted as if it were replaced.
func TestUpgradeChains(t *testing.T) {
	e := newOperatorEnv(t)
	e.manage()
	v1, v2 := versions()
	_, v3 := versions()
	v3.Name, v3.Spec.Replaces, v3.Spec.Skips = "operator.v3", "operator.v2", []string{"operator.v0"}
	e.install(csv("operator.v0", "zero"))
	e.install(v1)
	e.create(v2)
	e.install(v3)
	noLongerExist(e, "operator.v0", "operator.v1", "operator.v2")
	expect(t, webhooks(e), upgraded("operator.v3")...)
}

// An operator that blocks upgrades is upgraded once it does not: the manager watches it. The status copies its report.
func TestUpgradeableAgain(t *testing.T) {
	e := newOperatorEnv(t)
	m := e.manage()
	v1, v2 := versions()
	e.install(v1)
	mind(e, "False")
	e.eventually("what the operator reports is observed", func() (bool, any) {
		said, seen := condition(e, "operator.v1"), metav1.Condition{}
		for _, c := range said.Status.Conditions {
			seen = c
		}
		return seen.Type == operatorsv2.Upgradeable && seen.Status == metav1.ConditionFalse && seen.ObservedGeneration == said.Generation, seen
	})
	e.create(v2)
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonOperatorConditionNotUpgradeable)
	mind(e, "True")
	e.succeeds("operator.v2")
	for _, request := range m.audited(m.started) {
		if request.ObjectRef != nil && request.ObjectRef.Resource == operatorConditions.Resource && request.Verb == "get" {
			t.Errorf("the manager asks instead of watching: %s", request.RequestURI)
		}
	}
	noLongerExist(e, "operator.v1")
	if c := condition(e, "operator.v2"); !slices.Equal(c.Spec.ServiceAccounts, []string{"default"}) || len(c.OwnerReferences) != 1 {
		t.Errorf("the new version's OperatorCondition is %+v", c)
	}
}

func condition(e *env, csv string) *operatorsv2.OperatorCondition {
	e.Helper()
	live, err := e.any.Resource(operatorConditions).Namespace(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
	e.must(err)
	condition := &operatorsv2.OperatorCondition{}
	e.must(runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, condition))
	return condition
}

var operatorConditions = operatorsv2.GroupVersion.WithResource("operatorconditions")

func mind(e *env, upgradeable string) {
	e.Helper()
	condition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "operators.coreos.com/v2", "kind": "OperatorCondition", "metadata": map[string]any{"name": "operator.v1"},
		"spec": map[string]any{"conditions": []any{map[string]any{
			"type": "Upgradeable", "status": upgradeable, "reason": "Migration", "message": "busy", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}}},
	}}
	_, err := e.any.Resource(operatorConditions).Namespace(e.namespace).Apply(e.ctx, condition.GetName(), condition, metav1.ApplyOptions{FieldManager: "operator"})
	e.must(err)
}

func isGone(e *env, csv string) bool {
	e.Helper()
	_, err := e.olm.ClusterServiceVersions(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		e.Fatal(err)
	}
	return err != nil
}

// noLongerExist waits until ClusterServiceVersions are deleted.
func noLongerExist(e *env, csvs ...string) {
	e.Helper()
	for _, csv := range csvs {
		e.eventually(csv+" no longer exists", func() (bool, any) { return isGone(e, csv), nil })
	}
}

// ownNothing waits until no object belongs to these versions. It collects garbage first.
func ownNothing(e *env, csvs ...string) {
	e.Helper()
	collect(e)
	for _, csv := range csvs {
		becomes(e, csv+" owns nothing", func() []string { return ownedBy(e, csv) }, nil)
	}
}

// webhooks are the validating registrations: the webhook, whose it is, and what it calls.
func webhooks(e *env) []string {
	e.Helper()
	var lines []string
	for name, c := range registered(e) {
		service := c.Webhooks[0].ClientConfig.Service
		lines = append(lines, strings.Join([]string{name, c.Labels["olm.owner"], service.Name, *service.Path}, " "))
	}
	slices.Sort(lines)
	return lines
}

func ownedBy(e *env, csv string) []string {
	e.Helper()
	owned := lists.Filter(e.owned(derived), func(o unstructured.Unstructured) bool {
		return o.GetLabels()["olm.owner"] == csv && o.GetKind() != "WebhookRollout"
	})
	return lists.Map(owned, func(o unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() })
}

func certificate(e *env) *corev1.Secret {
	e.Helper()
	return kube.Get(e, e.kube.CoreV1().Secrets(e.namespace), servingSecret)
}

// collect plays the garbage collector once: it deletes what has no owner, and forgets CSVs that no longer exist.
func collect(e *env) {
	e.Helper()
	list := kube.List(e, e.olm.ClusterServiceVersions(e.namespace), metav1.ListOptions{})
	for _, o := range namespaced(e) {
		owners := o.GetOwnerReferences()
		solid := slices.DeleteFunc(slices.Clone(owners), func(owner metav1.OwnerReference) bool {
			return owner.Kind == operatorsv1alpha1.ClusterServiceVersionKind && !slices.ContainsFunc(list.Items, func(c operatorsv1alpha1.ClusterServiceVersion) bool { return c.UID == owner.UID })
		})
		switch {
		case len(solid) == len(owners):
		case len(solid) == 0:
			e.must(client(e, o).Delete(e.ctx, o.GetName(), metav1.DeleteOptions{}))
		default:
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": solid}})
			e.must(err)
			kube.Patch(e, client(e, o), o.GetName(), types.MergePatchType, patch)
		}
	}
}

// same reports a difference between what is observed and what is desired.
func same[T any](t testing.TB, what string, got, want T, options ...gocmp.Option) {
	t.Helper()
	if diff := gocmp.Diff(want, got, options...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// none reports the items of a list that must be empty.
func none[T any](t testing.TB, what string, items []T) {
	t.Helper()
	same(t, what, items, nil, cmpopts.EquateEmpty())
}

func expect(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("there are\n %s\nwant\n %s", strings.Join(got, "\n "), strings.Join(want, "\n "))
	}
}

// disown removes the owners of objects.
func disown(e *env, objects ...unstructured.Unstructured) {
	e.Helper()
	for _, o := range objects {
		kube.Patch(e, client(e, o), o.GetName(), types.MergePatchType, []byte(`{"metadata":{"ownerReferences":null}}`))
	}
}
