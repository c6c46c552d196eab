package integration

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
)

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
