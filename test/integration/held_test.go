package integration

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// held is an operator whose conversion an object needs, when it is to go.
type held struct {
	*env
	crd    *apiextensionsv1.CustomResourceDefinition
	object string
}

// newHeld installs it as a catalog does: with an account of its own.
func newHeld(t *testing.T) held {
	t.Helper()
	e := newOperatorEnv(t)
	h := held{env: e, crd: newCRD(e, "widgets", "v1", "v2")}
	e.manage()
	h.object = newObject(e, h.crd)
	c := converting("operator.v1", h.crd.Name)
	c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.ServiceAccountName = "server"
	ownedAccount(e, "server", e.create(c))
	e.succeeds("operator.v1")
	return h
}

// ownedAccount creates an account that may read, all of which is deleted with its operator.
func ownedAccount(e *env, name string, csv *operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	owned := metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{
		APIVersion: operatorsv1alpha1.ClusterServiceVersionAPIVersion, Kind: operatorsv1alpha1.ClusterServiceVersionKind, Name: csv.Name, UID: csv.UID,
	}}}
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: owned})
	rbac := e.kube.RbacV1()
	kube.Create(e, rbac.Roles(e.namespace), &rbacv1.Role{ObjectMeta: owned, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}})
	kube.Create(e, rbac.RoleBindings(e.namespace), &rbacv1.RoleBinding{
		ObjectMeta: owned, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: e.namespace}},
	})
}

// isHeld waits until the CSV and its record report what holds it, and the state of the conversion.
func (h held) isHeld() {
	h.Helper()
	const wayOut = " has 1 object, stored in v2, and serves v1, v2: set served: false in it for v1"
	h.eventually("the uninstallation is held up", func() (bool, any) {
		status, csv, webhook := h.rollout("operator.v1"), h.get("operator.v1").Status, webhookStatus(h.env, "operator.v1", "v.example.com")
		inUse := meta.FindStatusCondition(status.Conditions, managerv1alpha1.ConditionConversionInUse)
		return inUse != nil && strings.Contains(inUse.Message, h.crd.Name+wayOut) && webhook.State == managerv1alpha1.WebhookRegistered &&
			csv.Phase == operatorsv1alpha1.CSVPhaseDeleting && strings.Contains(csv.Message, h.crd.Name+wayOut), []any{status, csv.Message}
	})
	same(h, "the conversion strategy while there are objects", conversion(h.env, h.crd.Name).Strategy, apiextensionsv1.WebhookConverter)
}

func (h held) release() {
	h.Helper()
	h.must(objects(h.env, h.crd).Delete(h.ctx, h.object, metav1.DeleteOptions{}))
	touch := []byte(`{"metadata":{"labels":{"touched":"yes"}}}`)
	_, err := h.olm.ClusterServiceVersions(h.namespace).Patch(h.ctx, "operator.v1", types.MergePatchType, touch, metav1.PatchOptions{})
	if !apierrors.IsNotFound(err) { // the manager may have reconciled by itself
		h.must(err)
	}
	noLongerExist(h.env, "operator.v1")
	same(h, "the conversion strategy without objects", conversion(h.env, h.crd.Name).Strategy, apiextensionsv1.NoneConverter)
}

// A definition whose objects would lose fields keeps its webhook, and all that its pods need,
// however the deletion cascades. Afterwards nothing is left, but what was to be orphaned.
func TestConversionInUse(t *testing.T) {
	needed := []string{
		"Deployment server", "OperatorCondition operator.v1", "Role server", "Role server-service-cert", "RoleBinding server", "RoleBinding server-service-cert",
		"Secret server-service-cert", "Service server-service", "ServiceAccount server",
	}
	others := []string{"Role operator.v1", "RoleBinding operator.v1"} // of another account
	orphans := slices.Sorted(slices.Values(append(needed, others...)))
	for name, test := range map[string]struct {
		policy metav1.DeletionPropagation
		left   []string
	}{
		"in the background": {metav1.DeletePropagationBackground, others}, // which go afterwards
		"in the foreground": {metav1.DeletePropagationForeground, nil},
		"orphaning":         {metav1.DeletePropagationOrphan, orphans},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHeld(t)
			becomes(h.env, "the definition keeps what converts", func() []string { return kindsAndNames(keptBy(h.env, h.crd)) }, needed)
			h.must(h.olm.ClusterServiceVersions(h.namespace).Delete(h.ctx, "operator.v1", metav1.DeleteOptions{PropagationPolicy: &test.policy}))
			cascade(h.env, "operator.v1", test.policy)
			h.isHeld()
			expect(t, kindsAndNames(keptBy(h.env, h.crd)), needed...)
			h.release()
			expect(t, kindsAndNames(namespaced(h.env)), test.left...)
			none(t, "objects that the definition keeps", keptBy(h.env, h.crd))
		})
	}
}

// cascade plays the garbage collector for a ClusterServiceVersion that is being deleted.
func cascade(e *env, csv string, policy metav1.DeletionPropagation) {
	e.Helper()
	if policy == metav1.DeletePropagationBackground {
		return // it waits for the finalizers
	}
	for _, o := range namespaced(e) {
		others := slices.DeleteFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.Name == csv })
		if len(others) == 0 && policy == metav1.DeletePropagationForeground {
			e.must(client(e, o).Delete(e.ctx, o.GetName(), metav1.DeleteOptions{}))
			continue
		}
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"ownerReferences": others}})
		e.must(err)
		kube.Patch(e, client(e, o), o.GetName(), types.MergePatchType, patch)
	}
	e.edit(csv, func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f != wellknown.FinalizerCSV })
	})
}

// namespaced are the objects in the Namespace that may be deleted with an operator.
func namespaced(e *env) []unstructured.Unstructured {
	e.Helper()
	var all []unstructured.Unstructured
	for _, kind := range append([]schema.GroupVersionResource{{Version: "v1", Resource: "serviceaccounts"}}, derived[:len(derived)-2]...) {
		all = append(all, kube.List(e, e.any.Resource(kind).Namespace(e.namespace), metav1.ListOptions{}).Items...)
	}
	return all
}

func keptBy(e *env, crd *apiextensionsv1.CustomResourceDefinition) []unstructured.Unstructured {
	e.Helper()
	return slices.DeleteFunc(namespaced(e), func(o unstructured.Unstructured) bool {
		return !slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool { return owner.UID == crd.UID })
	})
}

func kindsAndNames(objects []unstructured.Unstructured) []string {
	all := lists.Map(objects, func(o unstructured.Unstructured) string { return o.GetKind() + " " + o.GetName() })
	slices.Sort(all)
	return all
}

// A client that deletes the old version before the new one has begun leaves what converts to the
// definition, and the new version adopts it from there.
func TestConversionOutlivesItsVersion(t *testing.T) {
	h := newHeld(t)
	h.create(needs(replacing("operator.v1", converting("operator.v2", h.crd.Name)), "account"))
	h.reaches("operator.v2", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	uid, ca := h.deployment("server").UID, h.servingCA()
	h.uninstall("operator.v1")
	collect(h.env)
	convertedBy(h.env, h.crd.Name, "server-service")
	if d := h.deployment("server"); d == nil || d.UID != uid || !bytes.Equal(h.servingCA(), ca) {
		t.Fatalf("what converts no longer exists with the old version: %v", d)
	}
	serviceAccount(h.env, &corev1.ServiceAccount{ObjectMeta: named("account")})
	h.succeeds("operator.v2")
	if d := h.deployment("server"); d.UID != uid || !bytes.Equal(h.servingCA(), ca) {
		t.Error("it was recreated")
	}
	h.must(objects(h.env, h.crd).Delete(h.ctx, h.object, metav1.DeleteOptions{}))
	h.uninstall("operator.v2")
	none(t, "objects that the definition keeps", keptBy(h.env, h.crd))
}

// The new version is deleted before it begins, while objects need the conversion of the old one, which is deleted too.
func TestConversionOutlivesBothVersions(t *testing.T) {
	h := newHeld(t)
	h.create(needs(replacing("operator.v1", converting("operator.v2", h.crd.Name)), "account"))
	h.reaches("operator.v2", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	uid := h.deployment("server").UID
	h.uninstall("operator.v1")
	collect(h.env)
	h.must(h.olm.ClusterServiceVersions(h.namespace).Delete(h.ctx, "operator.v2", metav1.DeleteOptions{}))
	h.reaches("operator.v2", operatorsv1alpha1.CSVPhaseDeleting, managerv1alpha1.ConditionConversionInUse)
	convertedBy(h.env, h.crd.Name, "server-service")
	if d := h.deployment("server"); d == nil || d.UID != uid {
		t.Fatalf("what converts no longer exists: %v", d)
	}
	h.must(objects(h.env, h.crd).Delete(h.ctx, h.object, metav1.DeleteOptions{}))
	touch(h.env, "operator.v2")
	noLongerExist(h.env, "operator.v2")
	none(t, "objects that the definition keeps", keptBy(h.env, h.crd))
}

// Nothing in a Namespace outlives it, but the ClusterServiceVersion that waits for its conversion: it
// reports it, and how its finalizer can be removed.
func TestNamespaceIsDeletedWhileAConversionIsInUse(t *testing.T) {
	h := newHeld(t)
	h.must(h.kube.CoreV1().Namespaces().Delete(h.ctx, h.namespace, metav1.DeleteOptions{}))
	// As the namespace controller does:
	h.must(h.kube.CoreV1().Services(h.namespace).Delete(h.ctx, "server-service", metav1.DeleteOptions{}))
	h.must(h.kube.AppsV1().Deployments(h.namespace).Delete(h.ctx, "server", metav1.DeleteOptions{}))
	h.must(h.kube.CoreV1().Secrets(h.namespace).Delete(h.ctx, "server-service-cert", metav1.DeleteOptions{}))
	h.must(h.olm.ClusterServiceVersions(h.namespace).Delete(h.ctx, "operator.v1", metav1.DeleteOptions{}))
	h.must(h.olm.WebhookRollouts(h.namespace).Delete(h.ctx, "operator.v1", metav1.DeleteOptions{}))
	saysWhy := func() (bool, any) {
		message := h.get("operator.v1").Status.Message
		return strings.Contains(message, "its Namespace is being deleted") && strings.Contains(message, wellknown.AnnotationForceConversion+"=true"), message
	}
	h.eventually("the ClusterServiceVersion reports what it waits for", saysWhy)
	kube.Patch(h, h.olm.ClusterServiceVersions(h.namespace), "operator.v1", types.MergePatchType, []byte(`{"status":{"message":"nothing"}}`), "status")
	h.eventually("it still reports it when nothing is left that converts", saysWhy)
	h.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, wellknown.AnnotationForceConversion, "true")
	})
	noLongerExist(h.env, "operator.v1")
	same(t, "the conversion strategy", conversion(h.env, h.crd.Name).Strategy, apiextensionsv1.NoneConverter)
}

// A version that is deleted before it succeeded, and stays because objects need its conversion, looks after the
// certificates of what serves them, and of the webhooks that it has given back to the version before.
func TestHeldNextToAnOlderVersion(t *testing.T) {
	e := newParallelEnv(t)
	crd := newCRD(e, "widgets", "v1", "v2")
	e.group("og", allNamespaces)
	e.runDeployments("late")
	runOperator(e)
	newObject(e, crd)
	v2 := replacing("operator.v1", converting("operator.v2", crd.Name))
	v2.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = append(v2.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, deploymentSpec("late"))
	v2.Spec.WebhookDefinitions = append(v2.Spec.WebhookDefinitions, webhook("v.example.com", "server"))
	v2.Spec.WebhookDefinitions[0].GenerateName = "c.example.com"
	e.create(v2)
	e.eventually("it converts", func() (bool, any) { c := conversion(e, crd.Name); return c.Webhook != nil, c })
	webhookOf := func(owner string) {
		e.Helper()
		e.eventually("the webhook is "+owner+"'s", func() (bool, any) {
			webhooks := webhooks(e)
			return slices.Contains(webhooks, "v.example.com "+owner+" server-service /validate"), webhooks
		})
	}
	webhookOf("operator.v2")
	e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v2", metav1.DeleteOptions{}))
	webhookOf("operator.v1")
	becomes(e, "operator.v2 is held", func() operatorsv1alpha1.ConditionReason { return e.get("operator.v2").Status.Reason }, managerv1alpha1.ConditionConversionInUse)
	lost := e.servingCA()
	e.must(e.kube.CoreV1().Secrets(e.namespace).Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
	e.eventually("there is another certificate, which both trust", func() (bool, any) {
		ca, conversion, admission := caOf(e, servingSecret), conversion(e, crd.Name).Webhook.ClientConfig.CABundle, e.registration("v.example.com").Webhooks[0].ClientConfig.CABundle
		return len(ca) > 0 && !bytes.Equal(ca, lost) && bytes.Contains(conversion, ca) && bytes.Contains(admission, ca), string(conversion)
	})
}

// An edit leaves out a conversion that an object needs. The Deployment that converts, its Service, its certificate and
// the caBundle are maintained until the conversion ends.
func TestRemovedConversion(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "hoists", "v1", "v2")
	e.manage()
	newObject(e, crd)
	e.install(converting("operator.v1", crd.Name))
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions, c.Spec.CustomResourceDefinitions.Owned[0].Version = nil, "v2"
		c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []operatorsv1alpha1.StrategyDeploymentSpec{deploymentSpec("other")}
	})
	e.eventually("the condition reports that the conversion is in use", func() (bool, any) {
		d, condition := e.deployment("other"), meta.FindStatusCondition(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionConversionInUse)
		return d != nil && condition != nil, condition
	})

	services, secrets := e.kube.CoreV1().Services(e.namespace), e.kube.CoreV1().Secrets(e.namespace)
	e.must(services.Delete(e.ctx, "server-service", metav1.DeleteOptions{}))
	awaitObject(e, services, "server-service")
	lost := e.servingCA()
	e.must(secrets.Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
	e.eventually("there is another certificate, and the definition trusts it alone", func() (bool, any) {
		ca, trusted := e.servingCA(), conversion(e, crd.Name).Webhook.ClientConfig.CABundle
		return len(ca) > 0 && !bytes.Equal(ca, lost) && bytes.Equal(ca, trusted), string(trusted)
	})
	if e.deployment("server") == nil {
		t.Fatal("the Deployment that converts is deleted")
	}

	editCRD(e, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Served = false })
	e.eventually("the conversion ends, and its Deployment is deleted", func() (bool, any) {
		conversion, d := conversion(e, crd.Name), e.deployment("server")
		return conversion.Strategy == apiextensionsv1.NoneConverter && d == nil, conversion.Strategy
	})
}
