package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// The pods of operators have the proxy of the cluster in their environment: from the flags of the manager in a cluster
// without OpenShift's object, and from the object once it exists. Each change rolls out. The Subscription overrides all.
func TestClusterProxy(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	flags := func(o *controller.Options) {
		o.WithOLM, o.Proxy = true, subscriptions.Proxy{HTTP: "http://flag:3128"}
	}
	granted := grantedTo(e, "manager/clusterrole.yaml", "with-olm/clusterrole.yaml")
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{})
	m := manageThrough(e, granted, flags)
	e.install(csv("operator.v1", "server"))
	has := func(why string, want ...string) {
		t.Helper()
		becomes(e, why, func() []string { return variables(e, "server") }, append(want, "OPERATOR_CONDITION_NAME=operator.v1"))
		e.succeeds("operator.v1")
	}
	has("the variable of the flag", "HTTP_PROXY=http://flag:3128")

	proxies := newProxyKind(e)
	setProxy(e, proxies, map[string]any{"httpProxy": "http://p:3128", "httpsProxy": "", "noProxy": ".svc"})
	has("the variables of the object", "HTTP_PROXY=http://p:3128", "NO_PROXY=.svc")
	setProxy(e, proxies, map[string]any{"httpsProxy": "https://p:3129", "noProxy": ".svc,10.0.0.0/8"})
	has("the changed variables", "HTTPS_PROXY=https://p:3129", "NO_PROXY=.svc,10.0.0.0/8")

	m.settles("operator.v1")
	m.stop()
	next := manageThrough(e, granted, flags)
	next.looksAgain("operator.v1")
	next.writesNothing(next.started)

	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Env = []corev1.EnvVar{{Name: "NO_PROXY", Value: "*"}} })
	has("the variable of the Subscription alone", "NO_PROXY=*")
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Env = nil })
	e.must(proxies.Delete(e.ctx, subscriptions.ClusterProxy, metav1.DeleteOptions{}))
	has("the variable of the flag, without the object", "HTTP_PROXY=http://flag:3128")
	noneIsForbidden(e, m.audited(m.started))
	noneIsForbidden(e, next.audited(next.started))
}

// variables are the names and values in the environment of the first container of a Deployment.
func variables(e *env, deployment string) (all []string) {
	e.Helper()
	for _, v := range e.deployment(deployment).Spec.Template.Spec.Containers[0].Env {
		all = append(all, v.Name+"="+v.Value)
	}
	return all
}

// newProxyKind defines OpenShift's kind, and returns a client of its objects.
func newProxyKind(e *env) dynamic.ResourceInterface {
	e.Helper()
	crd := things(e, subscriptions.ProxyResource.Resource, subscriptions.ProxyResource.Version)
	crd.Name, crd.Spec.Group, crd.Spec.Scope = subscriptions.ProxyResource.GroupResource().String(), subscriptions.ProxyResource.Group, apiextensionsv1.ClusterScoped
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "proxies", Singular: "proxy", Kind: "Proxy", ListKind: "ProxyList"}
	crd.Spec.Versions[0].Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	e.temporaryDefinition(crd)
	return e.any.Resource(subscriptions.ProxyResource)
}

// setProxy creates the proxy of the cluster unless it exists, and sets its status.
func setProxy(e *env, proxies dynamic.ResourceInterface, status map[string]any) {
	e.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": subscriptions.ProxyResource.GroupVersion().String(), "kind": subscriptions.ProxyKind.Kind,
		"metadata": map[string]any{"name": subscriptions.ClusterProxy},
	}}
	live, err := proxies.Apply(e.ctx, subscriptions.ClusterProxy, object, metav1.ApplyOptions{FieldManager: "administrator"})
	e.must(err)
	live.Object["status"] = status
	_, err = proxies.UpdateStatus(e.ctx, live, metav1.UpdateOptions{})
	e.must(err)
}
