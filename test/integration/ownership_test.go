package integration

import (
	"slices"
	"strings"
	"sync"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var installPlans sync.Mutex

// plan plays a catalog: an InstallPlan reports what became of its steps.
func plan(e *env, csv string, steps map[string]operatorsv1alpha1.StepStatus) {
	e.Helper()
	defineInstallPlans(e)
	client := e.olm.InstallPlans(e.namespace)
	plan := kube.Create(e, client, &operatorsv1alpha1.InstallPlan{ObjectMeta: metav1.ObjectMeta{Name: "install-" + csv}})
	plan.Status.Phase, plan.Status.CatalogSources = operatorsv1alpha1.InstallPlanPhaseComplete, []string{}
	for object, status := range steps {
		kind, name, _ := strings.Cut(object, " ")
		plan.Status.Plan = append(plan.Status.Plan, &operatorsv1alpha1.Step{
			Resolving: csv, Resource: operatorsv1alpha1.StepResource{Group: rbacv1.GroupName, Version: "v1", Kind: kind, Name: name}, Status: status,
		})
	}
	kube.UpdateStatus(e, client, plan)
}

// defineInstallPlans has the API server serve them: OLM's catalog operator brings their definition.
func defineInstallPlans(e *env) {
	e.Helper()
	installPlans.Lock()
	defer installPlans.Unlock()
	anything := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "installplans.operators.coreos.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "operators.coreos.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "installplans", Singular: "installplan", Kind: "InstallPlan", ListKind: "InstallPlanList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true, Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &anything}},
			}},
		},
	}
	_, err := extensions(e).ApiextensionsV1().CustomResourceDefinitions().Create(e.ctx, crd, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		e.must(err)
	}
	e.must(kube.WaitUntilServed(e.ctx, extensions(e), crd.Name))
}

func put(e *env, resource schema.GroupVersionResource, kind string, o metav1.Object) {
	e.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	e.must(err)
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(resource.GroupVersion().WithKind(kind))
	_, err = client(e, *u).Create(e.ctx, u, metav1.CreateOptions{})
	e.must(err)
}

// labelledObjects are objects that have the labels of a ClusterServiceVersion: the ones that belong to it
// all the same, and those of others.
type labelledObjects struct {
	*env
	labels map[string]string
	group  string
}

var (
	validatingKind = admissionregistrationv1.SchemeGroupVersion.WithResource("validatingwebhookconfigurations")
	mutatingKind   = admissionregistrationv1.SchemeGroupVersion.WithResource("mutatingwebhookconfigurations")
	roleKind       = rbacv1.SchemeGroupVersion.WithResource("clusterroles")
	bindingKind    = rbacv1.SchemeGroupVersion.WithResource("clusterrolebindings")
	apiServiceKind = apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")
)

func (l labelledObjects) meta(name string, but ...string) metav1.ObjectMeta {
	labels := map[string]string{}
	for label, value := range l.labels {
		if !slices.Contains(but, label) {
			labels[label] = value
		}
	}
	return metav1.ObjectMeta{Name: l.namespace + "-" + name, Labels: labels}
}

// others creates what belongs to others, and returns what an event has to list.
func (l labelledObjects) others() (keys []string) {
	l.Helper()
	none, url, nowhere := admissionregistrationv1.SideEffectClassNone, "https://example.com/", "nowhere"
	client := func(c admissionregistrationv1.WebhookClientConfig) []admissionregistrationv1.ValidatingWebhook {
		return []admissionregistrationv1.ValidatingWebhook{{Name: "v.example.com", ClientConfig: c, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}}}
	}
	elsewhere := admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: nowhere, Name: "server-service"}}
	put(l.env, validatingKind, "ValidatingWebhookConfiguration", &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: l.meta("elsewhere"), Webhooks: client(elsewhere)})
	put(l.env, mutatingKind, "MutatingWebhookConfiguration", &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: l.meta("url"), Webhooks: []admissionregistrationv1.MutatingWebhook{{
		Name: "m.example.com", ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url}, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
	}}})
	api := l.meta("")
	api.Name = "v1." + l.group
	put(l.env, apiServiceKind, "APIService", &apiregistrationv1.APIService{ObjectMeta: api, Spec: apiregistrationv1.APIServiceSpec{
		Group: l.group, Version: "v1", GroupPriorityMinimum: 100, VersionPriority: 100, InsecureSkipTLSVerify: true,
		Service: &apiregistrationv1.ServiceReference{Namespace: nowhere, Name: "theirs"},
	}})
	everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	put(l.env, roleKind, "ClusterRole", &rbacv1.ClusterRole{ObjectMeta: l.meta("plain", wellknown.LabelManaged), Rules: []rbacv1.PolicyRule{readPods}})
	put(l.env, roleKind, "ClusterRole", &rbacv1.ClusterRole{ObjectMeta: l.meta("present", wellknown.LabelManaged), Rules: []rbacv1.PolicyRule{readPods}})
	pretended := l.meta("lifted")
	pretended.Labels[wellknown.LabelGrantedPermissions] = "true"
	put(l.env, roleKind, "ClusterRole", &rbacv1.ClusterRole{ObjectMeta: pretended, Rules: everything})
	bind := func(name, role string) {
		put(l.env, bindingKind, "ClusterRoleBinding", &rbacv1.ClusterRoleBinding{
			ObjectMeta: l.meta(name), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: nowhere, Name: "account"}},
		})
	}
	pretended = l.meta("like-lifted")
	pretended.Labels[wellknown.LabelGrantedPermissions] = "true"
	put(l.env, roleKind, "ClusterRole", &rbacv1.ClusterRole{ObjectMeta: pretended, Rules: []rbacv1.PolicyRule{readPods}})
	bound := &rbacv1.ClusterRoleBinding{
		ObjectMeta: *pretended.DeepCopy(), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}, Subjects: accountAsSubject(l.env),
	}
	put(l.env, bindingKind, "ClusterRoleBinding", bound)
	bind("bound", "view")
	bind("delegated", "system:auth-delegator")
	for _, key := range []string{
		"ValidatingWebhookConfiguration elsewhere", "MutatingWebhookConfiguration url", "ClusterRole plain", "ClusterRole present", "ClusterRole lifted",
		"ClusterRole like-lifted", "ClusterRoleBinding like-lifted",
		"ClusterRoleBinding bound", "ClusterRoleBinding delegated",
	} {
		kind, name, _ := strings.Cut(key, " ")
		keys = append(keys, kind+" "+l.namespace+"-"+name)
	}
	return append(keys, "APIService "+api.Name)
}

// own creates what belongs to the ClusterServiceVersion although the manager did not create it: OLM v0,
// an InstallPlan or bundle install did.
func (l labelledObjects) own(csv string) {
	l.Helper()
	none := admissionregistrationv1.SideEffectClassNone
	put(l.env, validatingKind, "ValidatingWebhookConfiguration", &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: l.meta("olm-x7k2p"), Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "v.example.com", SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, ClientConfig: admissionregistrationv1.WebhookClientConfig{
				Service: &admissionregistrationv1.ServiceReference{Namespace: l.namespace, Name: "server-service"},
			},
		}},
	})
	metrics := []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}
	put(l.env, roleKind, "ClusterRole", &rbacv1.ClusterRole{ObjectMeta: l.meta("planned", wellknown.LabelManaged), Rules: metrics})
	installed := l.meta("", wellknown.LabelManaged)
	installed.Name = names.Permissions(l.namespace, csv, "account")
	put(l.env, roleKind, "ClusterRole", &rbacv1.ClusterRole{ObjectMeta: installed, Rules: []rbacv1.PolicyRule{readPods}})
	for _, name := range []string{l.namespace + "-planned", installed.Name} {
		meta := l.meta("", wellknown.LabelManaged)
		meta.Name = name
		put(l.env, bindingKind, "ClusterRoleBinding", &rbacv1.ClusterRoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}, Subjects: accountAsSubject(l.env),
		})
	}
}

// What has the labels of a ClusterServiceVersion is deleted with it when more than the labels proves that it
// belongs to it. What others labelled stays, neither changed nor deleted, and an event lists it.
func TestOnlyOwnObjectsAreDeleted(t *testing.T) {
	e := newOperatorEnv(t)
	m := e.manage(func(o *controller.Options) { o.LiftRoles = true })
	a := playAPI(e)
	c := askingTheCluster(csv("operator.v1", "server"), readPods)
	bindClusterRole(e)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: named("account")})
	e.install(c)
	l := labelledObjects{env: e, labels: csvspec.OwnerLabels(e.get("operator.v1")), group: a.group}
	kinds := []schema.GroupVersionResource{validatingKind, mutatingKind, apiServiceKind, roleKind, bindingKind}
	recorded := uids(e, "operator.v1")
	for _, o := range e.owned(kinds) {
		if !slices.Contains(recorded, string(o.GetUID())) {
			t.Errorf("the uid of %s %s is not recorded", o.GetKind(), o.GetName())
		}
	}
	kept := l.others()
	before := labelled(e, kinds)
	l.own("operator.v1")
	plan(e, "operator.v1", map[string]operatorsv1alpha1.StepStatus{
		"ClusterRole " + e.namespace + "-planned": operatorsv1alpha1.StepStatusCreated, "ClusterRoleBinding " + e.namespace + "-planned": operatorsv1alpha1.StepStatusCreated,
		"ClusterRole " + e.namespace + "-present": operatorsv1alpha1.StepStatusPresent,
	})
	m.looksAgain("operator.v1")
	e.uninstall("operator.v1")

	left := labelled(e, kinds)
	for _, key := range kept {
		changed := left[key] != before[key] && !strings.HasPrefix(key, "APIService ") // the API server writes its status
		if left[key] == "" || changed {
			t.Errorf("%s was changed or deleted", key)
		}
		delete(left, key)
	}
	same(t, "what is left of the ClusterServiceVersion's own", len(left), 0)
	var events []string
	e.eventually("events list what stays", func() (bool, any) {
		events = append(events, m.reported()...)
		listed := strings.Join(slices.DeleteFunc(slices.Clone(events), func(event string) bool { return !strings.HasPrefix(event, "Warning LabelledObjectsLeft") }), "; ")
		return !slices.ContainsFunc(kept, func(key string) bool { return !strings.Contains(listed, key) }), events
	})
	for _, key := range kept {
		kind, name, _ := strings.Cut(key, " ")
		for _, resource := range kinds {
			if o := labelledObject(e, resource, name); o != nil && o.GetKind() == kind {
				e.must(client(e, *o).Delete(e.ctx, name, metav1.DeleteOptions{}))
			}
		}
	}
}

func uids(e *env, csv string) (uids []string) {
	e.Helper()
	for _, created := range e.rollout(csv).Created {
		uids = append(uids, string(created.UID))
	}
	return uids
}

func labelled(e *env, kinds []schema.GroupVersionResource) map[string]string {
	e.Helper()
	found := map[string]string{}
	for _, o := range e.owned(kinds) {
		found[o.GetKind()+" "+o.GetName()] = o.GetResourceVersion()
	}
	return found
}

func labelledObject(e *env, resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	e.Helper()
	o, err := e.any.Resource(resource).Get(e.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	e.must(err)
	return o
}
