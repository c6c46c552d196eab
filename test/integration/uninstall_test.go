package integration

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Other API servers may call a webhook for a moment after its registration was deleted. Its backend exists until then.
func TestUninstallWaitsForAPIServers(t *testing.T) {
	const settle = time.Second
	e := newOwnNamespaceEnv(t)
	first := e.manage() // with the gate Available, as no webhook answers here
	e.install(bundle())
	first.stop()
	m := e.manage(settling(settle), asks(0, prober.Servers{Obstacle: "they are not known"}))
	since := auditEnd(e)
	e.uninstall("operator.v1")
	var unregistered, released time.Time
	for _, event := range kube.Writes(m.audited(since), m.userAgent) {
		switch {
		case event.Verb == "delete" && strings.HasSuffix(event.ObjectRef.Resource, "webhookconfigurations"):
			unregistered = event.StageTimestamp.Time
		case event.Verb == "patch" && event.ObjectRef.Resource == "clusterserviceversions" && event.ObjectRef.Subresource == "":
			released = event.RequestReceivedTimestamp.Time
		}
	}
	if unregistered.IsZero() || released.Sub(unregistered) < settle {
		t.Errorf("the finalizer was removed %s after the last registration, want at least %s", released.Sub(unregistered), settle)
	}
}

// The backend exists until each API server has observed the end of the registrations, however short the settle time is.
func TestUninstallAwaitsEachAPIServer(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	first := e.manage() // with the gate Available, as no webhook answers here
	e.install(bundle())
	first.stop()
	another := cluster.AnotherAPIServer(t)
	e.manage(settling(time.Millisecond), asks(0, prober.Servers{Each: map[string]*rest.Config{"first": cluster.Config(), "second": another.Config()}, Number: 2}))
	configuration := webhookStatus(e, "operator.v1", "v.example.com").Configuration
	another.Hold()
	e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	becomes(e, "the webhook is unregistered", func() bool {
		_, err := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(e.ctx, configuration, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	}, true)
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseDeleting, managerv1alpha1.ReasonUnregistering)
	if message := e.get("operator.v1").Status.Message; !strings.HasSuffix(message, "for at most a minute: second") {
		t.Errorf("the message is %q", message)
	}
	e.looksFor(3*time.Second, func() {
		if _, err := e.olm.ClusterServiceVersions(e.namespace).Get(e.ctx, "operator.v1", metav1.GetOptions{}); err != nil {
			t.Errorf("while an API server is behind: %v", err)
		}
	})
	another.Release()
	noLongerExist(e, "operator.v1")
	leavesNothing(e)
}

// settling has the manager wait until API servers have observed the end of a registration.
func settling(settle time.Duration) func(*controller.Options) {
	return func(o *controller.Options) { o.Rollout.Gate, o.Rollout.Settle = rollout.GateServing, settle }
}

// Webhooks are deleted before anything else: once their backends are deleted, they could refuse the
// rest. A ClusterServiceVersion stays as long as one of them cannot be unregistered.
func TestUninstallWaitsForUnregistration(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	var allowed atomic.Bool
	var refused atomic.Int32
	proxy := proxy(e, func(_ int, r *http.Request) kube.Verdict {
		if r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "mutatingwebhookconfigurations") && !allowed.Load() {
			refused.Add(1)
			return kube.DropBefore
		}
		return kube.Pass
	})
	manageThrough(e, proxy.Config())
	e.install(bundle())
	e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	e.eventually("the manager has tried more than once", func() (bool, any) { return refused.Load() > 1, refused.Load() })
	same(t, "the number of finalizers while a webhook is registered", len(e.get("operator.v1").Finalizers), 1)
	allowed.Store(true)
	e.uninstall("operator.v1")
	leavesNothing(e)
}

// A registration that the API server refuses to delete keeps the finalizer, but not the other
// registrations. The ClusterServiceVersion and its record report it, and the certificate is renewed.
func TestUnregistrationIsRefused(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	e.manage()
	e.install(bundle())
	configuration := webhookStatus(e, "operator.v1", "v.example.com").Configuration
	accept := refuseDeletion(e, configuration)
	defer accept()
	e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	e.eventually("the refusal is reported", func() (bool, any) {
		csv, status := e.get("operator.v1").Status, e.rollout("operator.v1")
		refused := meta.FindStatusCondition(status.Conditions, managerv1alpha1.ConditionUnregistrationRefused)
		return refused != nil && strings.Contains(refused.Message, "ValidatingWebhookConfiguration "+configuration) &&
			csv.Phase == operatorsv1alpha1.CSVPhaseDeleting && csv.Reason == managerv1alpha1.ConditionUnregistrationRefused &&
			strings.Contains(csv.Message, "no deletion of this configuration"), []any{status, csv.Message}
	})
	for _, left := range e.owned(clusterScoped) {
		same(t, "the configuration that is left", left.GetName(), configuration)
	}
	before := e.servingCA()
	e.order("while it is refused")
	e.eventually("the certificate is renewed", func() (bool, any) {
		return string(e.servingCA()) != string(before) && trusts(e, e.servingCA()), rotation(e)
	})
	accept()
	touch(e, "operator.v1")
	noLongerExist(e, "operator.v1")
	leavesNothing(e)
}

func setFinalizers(e *env, configuration, list string) {
	e.Helper()
	_, err := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(e.ctx, configuration, types.MergePatchType,
		fmt.Appendf(nil, `{"metadata": {"finalizers": %s}}`, list), metav1.PatchOptions{FieldManager: "other"})
	e.must(err)
}

// API servers continue to call the webhooks of a registration that finalizers of another client keep.
func TestRegistrationKeptByFinalizers(t *testing.T) {
	const settle = 2 * time.Second
	e := newOwnNamespaceEnv(t)
	first := e.manage() // with the gate Available, as no webhook answers here
	e.install(bundle())
	first.stop()
	e.manage(settling(settle), asks(0, prober.Servers{Obstacle: "they are not known"}))
	configuration := webhookStatus(e, "operator.v1", "v.example.com").Configuration
	setFinalizers(e, configuration, `["example.com/kept"]`)
	e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	e.eventually("the finalizers are reported", func() (bool, any) {
		status := e.get("operator.v1").Status
		return status.Phase == operatorsv1alpha1.CSVPhaseDeleting &&
			strings.Contains(status.Message, "finalizers keep ValidatingWebhookConfiguration "+configuration+" from being deleted: example.com/kept. Remove them"), status
	})
	setFinalizers(e, configuration, "null")
	ended := time.Now()
	noLongerExist(e, "operator.v1")
	if waited := time.Since(ended); waited < settle {
		t.Errorf("the finalizer was removed %s after the last registration ended, want at least %s", waited, settle)
	}
	leavesNothing(e)
}

func TestUninstallWithImpossibleDefinitions(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	e.manage()
	operator := csv("impossible.v1", "impossible")
	operator.Spec.WebhookDefinitions = append(operator.Spec.WebhookDefinitions, operatorsv1alpha1.WebhookDescription{
		Type: operatorsv1alpha1.ConversionWebhook, GenerateName: "c.example.com", DeploymentName: "impossible",
		AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone),
		ConversionCRDs: []string{"things.example.com/v1", "..", ""},
	})
	e.create(operator)
	e.eventually("it has the finalizer", func() (bool, any) {
		live := e.get("impossible.v1")
		return len(live.Finalizers) > 0, live.Finalizers
	})
	e.uninstall("impossible.v1")
}

// An operator whose webhook cannot be unregistered does not keep those of others from it when the manager is removed.
func TestManagerRemovalIsRefused(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	e.install(csv("a.v1", "a"))
	e.install(csv("b.v1", "b"))
	m.stop()
	refused := e.rollout("a.v1").Deployments[0].Webhooks[0].Configuration
	accept := refuseDeletion(e, refused)
	defer accept()
	set, err := clients.New(cluster.Config())
	e.must(err)
	var held uninstall.HeldError
	err = uninstall.Manager(e.ctx, set, logger(), e.namespace)
	if !errors.As(err, &held) || len(held.Held) != 1 || !strings.Contains(held.Held[0], "a.v1: the API server refuses to delete ValidatingWebhookConfiguration "+refused) {
		t.Errorf("the error is %v", err)
	}
	if left := e.owned(clusterScoped); len(left) != 1 || left[0].GetName() != refused {
		t.Errorf("left: %s", namesOf(left))
	}
	if a, b := e.get("a.v1").Finalizers, e.get("b.v1").Finalizers; len(a) != 1 || len(b) > 0 {
		t.Errorf("the finalizers are %v and %v", a, b)
	}
	accept()
	e.must(uninstall.Manager(e.ctx, set, logger(), e.namespace))
}

// Nothing can be created in a Namespace that is being deleted, and its pods may be deleted at
// any time: its webhooks are deleted at once. The Namespace's controller deletes the rest.
func TestNamespaceIsDeleted(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	e.install(bundle())
	e.must(e.kube.CoreV1().Namespaces().Delete(e.ctx, e.namespace, metav1.DeleteOptions{}))
	becomes(e, "the webhooks are unregistered", func() string { return namesOf(e.owned(clusterScoped)) }, "")
	e.must(e.kube.AppsV1().Deployments(e.namespace).Delete(e.ctx, "server", metav1.DeleteOptions{}))
	m.looksAgain("operator.v1")
	none(t, "registrations that were recreated", e.owned(clusterScoped))
	e.uninstall("operator.v1")
}

// What was registered a moment before the deletion is unregistered, too, though the manager's cache does not show it.
func TestUninstallWithAStaleCache(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	frozen := e.freezer("webhookconfigurations")
	m := manageThrough(e, frozen.config)
	e.eventually("the caches are filled", func() (bool, any) { return m.passes("Namespace") > 0, nil })
	frozen.freeze()
	defer frozen.thaw()
	e.install(bundle())
	e.uninstall("operator.v1")
	same(t, "the cache was stale", frozen.held.Load() > 0, true)
	leavesNothing(e)
}

// So is a conversion written just before the deletion: without it, the definition would call a deleted Service.
func TestUninstallWithStaleDefinitions(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "flanges", "v1", "v2")
	frozen := e.freezer("customresourcedefinitions")
	m := manageThrough(e, frozen.config)
	e.eventually("the caches are filled", func() (bool, any) { return m.passes("Namespace") > 0, nil })
	frozen.freeze()
	defer frozen.thaw()
	e.create(converting("operator.v1", crd.Name))
	becomes(e, "the definition has its conversion", func() apiextensionsv1.ConversionStrategyType { return conversion(e, crd.Name).Strategy }, apiextensionsv1.WebhookConverter)
	e.uninstall("operator.v1")
	same(t, "the cache was stale", frozen.held.Load() > 0, true)
	same(t, "the conversion strategy after the uninstallation", conversion(e, crd.Name).Strategy, apiextensionsv1.NoneConverter)
}
