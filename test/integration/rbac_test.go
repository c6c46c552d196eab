package integration

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const account = "system:serviceaccount:olm-webhook-manager:olm-webhook-manager"

// The permissions of manifests/ are enough for all that the manager does. Which of them
// this test does not need it logs: what no client needs should go.
func TestPermissions(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	granted := grant(e)
	m := manageThrough(e, asAccount())
	a := playAPI(e)
	e.create(a.ownedBy(bundle()))
	a.start()
	e.succeeds("operator.v1")
	for _, o := range append(e.owned(derived), e.owned(outside[:2])...) {
		m.looksAfter(func() { e.must(client(e, o).Delete(e.ctx, o.GetName(), metav1.DeleteOptions{})) })
		e.succeeds("operator.v1")
	}
	patchSecret(`{"data": {"tls.crt": "c3BvaWxlZA=="}}`)(e)
	e.eventually("the spoiled certificate is replaced", func() (bool, any) { return rotated(e), nil })
	second := `[{"op": "copy", "from": "/webhooks/0", "path": "/webhooks/1"}, {"op": "replace", "path": "/webhooks/1/name", "value": "smuggled.example.com"}]`
	kube.Patch(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), e.registration("v.example.com").Name, types.JSONPatchType, []byte(second))
	e.eventually("the second webhook no longer exists", func() (bool, any) { return len(e.registration("v.example.com").Webhooks) == 1, nil })
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions = c.Spec.WebhookDefinitions[:1]
	})
	e.eventually("the webhook that is not declared any more no longer exists", func() (bool, any) { return len(e.owned(clusterScoped)) == 1, nil })
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.APIServiceDefinitions.Owned = nil })
	e.eventually("the APIService that is not declared any more no longer exists", func() (bool, any) { return a.registered() == nil && len(delegations(e)) == 0, nil })
	next := a.ownedBy(bundle())
	next.Name, next.Spec.Replaces = "operator.v2", "operator.v1"
	e.install(next)
	noLongerExist(e, "operator.v1")
	collect(e)
	e.uninstall("operator.v2")
	leavesNothing(e)

	for p := range granted.Difference(m.permissionsUsed()) {
		t.Logf("not needed here: %s", p)
	}
}

func asAccount() *rest.Config {
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: account, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	return config
}

func (m *manager) permissionsUsed() sets.Set[permission] {
	m.Helper()
	used := sets.New[permission]()
	events := m.audited(m.started)
	noneIsForbidden(m.env, events)
	for _, event := range events {
		used.Insert(permissionsFor(event)...)
	}
	return used
}

type permission struct{ group, resource, verb string }

func (p permission) String() string {
	return p.verb + " " + strings.TrimSuffix(p.resource+"."+p.group, ".")
}

// permissionsFor are the ones that a request took. An apply that creates takes both.
func permissionsFor(event auditv1.Event) []permission {
	o := event.ObjectRef
	if o == nil {
		return nil
	}
	p := permission{o.APIGroup, strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"), event.Verb}
	if event.Verb == "patch" && event.ResponseStatus.Code == http.StatusCreated {
		return []permission{p, {p.group, p.resource, "create"}}
	}
	return []permission{p}
}

// grant gives the manager's account the cluster-wide rules of manifests/, and waits until the API server applies them.
func grant(e *env) sets.Set[permission] {
	e.Helper()
	role, binding := &rbacv1.ClusterRole{}, &rbacv1.ClusterRoleBinding{}
	read(e, "clusterrole.yaml", role)
	read(e, "bindings.yaml", binding)
	if _, err := e.kube.RbacV1().ClusterRoles().Create(e.ctx, role, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		e.must(err)
	}
	if _, err := e.kube.RbacV1().ClusterRoleBindings().Create(e.ctx, binding, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		e.must(err)
	}
	_, client := typedClients(e.T, asAccount())
	e.eventually("the account may do what it is granted", func() (bool, any) {
		_, err := client.ClusterServiceVersions("").List(e.ctx, metav1.ListOptions{Limit: 1})
		return err == nil, err
	})
	granted := sets.New[permission]()
	for _, rule := range role.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted.Insert(permission{group, resource, verb})
				}
			}
		}
	}
	return granted
}

func read(e *env, file string, into any) {
	e.Helper()
	text, err := os.ReadFile(filepath.Join("../../manifests/manager", file))
	e.must(err)
	e.must(yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(into))
}

// The permissions of manifests/ are enough for every issuer, for conversions, and for a
// rotation that waits for pods; and those of others' kinds are all needed.
func TestPermissionsForIssuers(t *testing.T) {
	e := newOperatorEnv(t)
	granted := grant(e)
	providers := startControllers(e)
	crd := newCRD(e, "gears", "v1", "v2").Name
	p := playPod(e)
	m := manageThrough(e, asAccount())
	c := converting("operator.v1", crd)
	c.Spec.WebhookDefinitions[0].GenerateName = "c.example.com"
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("v.example.com", "server"))
	for i := range c.Spec.WebhookDefinitions {
		c.Spec.WebhookDefinitions[i].TargetPort = new(intstr.FromInt(p.port()))
	}
	e.install(c)
	p.start()
	e.order("once")
	e.eventually("the pod's kubelet is made to re-sync", func() (bool, any) {
		annotations := p.get().Annotations
		return annotations[wellknown.AnnotationResyncedAt] != "", annotations
	})
	e.must(e.kube.CoreV1().Pods(e.namespace).Delete(e.ctx, "server-0", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
	rotates(e, 2)

	for _, next := range slices.Backward(providers) {
		choose(e, next)
		provides(e, next)
	}
	signingCA(e, "internal-ca", 1)
	issuer(e, "internal", map[string]any{"ca": map[string]any{"secretName": "internal-ca"}})
	carried := servingCertificate(e).Leaf
	choose(e, managerv1alpha1.ProviderNone, injectFrom, e.namespace+"/own")
	handsOff(e)
	ownCertificate(e, "own")
	e.eventually("the administrator's certificate exists", func() (bool, any) {
		return e.servingCA() != nil && !servingCertificate(e).Leaf.Equal(carried), nil
	})
	choose(e, managerv1alpha1.ProviderManager)
	e.says("issues into Secret server-service-cert")
	e.must(e.any.Resource(issuers.Certificates).Namespace(e.namespace).Delete(e.ctx, "own", metav1.DeleteOptions{}))
	touch(e, "operator.v1")
	provides(e, managerv1alpha1.ProviderManager)
	e.uninstall("operator.v1")

	used, needed := m.permissionsUsed(), sets.New[permission]()
	for p := range granted {
		requests := slices.ContainsFunc(issuers.Kinds(), func(k issuers.Kind) bool {
			return k.Resource.Group == p.group && (p.group != "" || k.Resource.Resource == p.resource)
		})
		if requests && p.verb != "list" { // watches list, too, with API servers that can do that
			needed.Insert(p)
		}
	}
	needed.Insert(permission{"", "pods", "patch"}, permission{"", "secrets", "delete"},
		permission{"apiextensions.k8s.io", "customresourcedefinitions", "get"}, permission{"apiextensions.k8s.io", "customresourcedefinitions", "patch"})
	for p := range needed.Difference(used) {
		t.Errorf("no request needs to %s: remove it from the ClusterRole", p)
	}
}
