package doctor

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// cluster has two webhook servers, of two pods each, in namespaces of their own, and
// nothing wrong with them.
type cluster struct {
	validating []admissionregistrationv1.ValidatingWebhookConfiguration
	crds       []apiextensionsv1.CustomResourceDefinition
	apis       []Webhook
	Facts
}

var (
	shop = types.NamespacedName{Namespace: "shop", Name: "hook"}
	bank = types.NamespacedName{Namespace: "bank", Name: "hook"}
)

func newCluster() *cluster {
	server := func(app string) Service {
		return Service{Ports: []int32{443}, Ready: 2, Pods: []Pod{{"a", map[string]string{"app": app}}, {"b", map[string]string{"app": app}}}}
	}
	return &cluster{Facts: Facts{
		Services: map[types.NamespacedName]Service{shop: server("shop"), bank: server("bank")},
		Namespaces: map[string]map[string]string{
			"shop": {"kubernetes.io/metadata.name": "shop"}, "bank": {"kubernetes.io/metadata.name": "bank"},
			"kube-system": {"kubernetes.io/metadata.name": "kube-system"}, "kube-node-lease": {"kubernetes.io/metadata.name": "kube-node-lease"},
		},
		Owners:  map[types.NamespacedName]bool{{Namespace: "shop", Name: "shop.v1"}: true},
		Answers: map[string][]Answer{},
	}}
}

// hook registers a webhook for operations on resources of the core group.
func (c *cluster) hook(name string, to types.NamespacedName, policy admissionregistrationv1.FailurePolicyType, resources ...string) *admissionregistrationv1.ValidatingWebhook {
	c.validating = append(c.validating, admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name, FailurePolicy: &policy,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: to.Namespace, Name: to.Name}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: resources},
			}},
		}},
	})
	return &c.validating[len(c.validating)-1].Webhooks[0]
}

func (c *cluster) down(s types.NamespacedName) {
	service := c.Services[s]
	service.Ready = 0
	c.Services[s] = service
}

// judge answers for all pods that were not asked otherwise: they serve for a month.
func (c *cluster) judge() []Finding {
	c.Webhooks = append(Webhooks(c.validating, nil, c.crds), c.apis...)
	for _, w := range c.Webhooks {
		if _, told := c.Answers[w.String()]; !told {
			c.Answers[w.String()] = []Answer{{NotAfter: now.AddDate(0, 1, 0)}}
		}
	}
	return Judge(c.Facts, now)
}

func TestJudge(t *testing.T) {
	const fail, ignore = admissionregistrationv1.Fail, admissionregistrationv1.Ignore
	selecting := func(labels map[string]string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{labels["not"]},
		}}}
	}
	type found struct {
		Level Level
		Code  string
		N     int // webhooks that it is about
	}
	for name, test := range map[string]struct {
		given func(c *cluster)
		want  []found
	}{
		"nothing wrong":        {func(c *cluster) { c.hook("v", shop, fail, "configmaps") }, nil},
		"nobody ready, Fail":   {func(c *cluster) { c.hook("v", shop, fail, "configmaps"); c.down(shop) }, []found{{Error, "NoReadyEndpoints", 1}}},
		"nobody ready, Ignore": {func(c *cluster) { c.hook("v", shop, ignore, "configmaps"); c.down(shop) }, []found{{Warning, "NoReadyEndpoints", 1}}},
		"no Service": {func(c *cluster) {
			c.hook("v", types.NamespacedName{Namespace: "gone", Name: "hook"}, fail, "configmaps")
		}, []found{{Error, "ServiceMissing", 1}}},
		"no such port": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps").ClientConfig.Service.Port = new(int32(8443))
		}, []found{{Error, "PortMissing", 1}}},
		"a caBundle of noise": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps").ClientConfig.CABundle = []byte("noise")
		}, []found{{Error, "CABundleUnreadable", 1}}},
		"a foreign certificate": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = []Answer{{Reason: "ForeignCertificate", Message: "pod a presents another"}}
		}, []found{{Error, "ForeignCertificate", 1}}},
		"one pod of two with a foreign certificate": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = []Answer{{NotAfter: now.AddDate(1, 0, 0)}, {Reason: "ForeignCertificate", Message: "pod b presents another"}}
		}, []found{{Warning, SomePodsFail, 1}}},
		"a certificate that ends tomorrow": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = []Answer{{NotAfter: now.AddDate(0, 0, 1)}}
		}, []found{{Warning, CertificateEndsSoon, 1}}},
		"pods that cannot be asked": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = nil
		}, []found{{Unknown, NotAsked, 1}}},
		"somewhere outside": {func(c *cluster) {
			url := "https://policy.example.com"
			c.hook("v", shop, fail, "configmaps").ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url}
		}, []found{{Unknown, NotAsked, 1}}},
		"somewhere outside, and not needed": {func(c *cluster) {
			url := "https://policy.example.com"
			c.hook("v", shop, ignore, "configmaps").ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url}
		}, nil},
		"left behind": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.validating[0].Labels = map[string]string{"olm.owner": "shop.v0", "olm.owner.namespace": "shop"}
		}, []found{{Warning, OwnerGone, 1}}},
		"looked after": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.validating[0].Labels = map[string]string{"olm.owner": "shop.v1", "olm.owner.namespace": "shop"}
		}, nil},

		"a conversion that objects need": {func(c *cluster) { c.crds = converted(shop, "v1", "v2"); c.down(shop) }, []found{{Error, "NoReadyEndpoints", 1}}},
		"a conversion of one version":    {func(c *cluster) { c.crds = converted(shop, "v1"); c.down(shop) }, []found{{Warning, "NoReadyEndpoints", 1}}},

		"an APIService that is served": {func(c *cluster) { c.apis = aggregated(shop, false) }, nil},
		"an APIService that is not":    {func(c *cluster) { c.apis = aggregated(shop, false); c.down(shop) }, []found{{Error, "NoReadyEndpoints", 1}}},
		"an APIService that cannot be asked": {func(c *cluster) {
			c.apis = aggregated(shop, false)
			c.Answers["APIService v1.shop.io"] = nil
		}, []found{{Unknown, NotAsked, 1}}},
		"an APIService that trusts anybody, and is not asked": {func(c *cluster) {
			c.apis = aggregated(shop, true)
			c.Answers["APIService v1.shop.io"] = nil
		}, nil},

		"it is called for its own pods": {func(c *cluster) { c.hook("v", shop, fail, "pods") }, []found{{Warning, PossibleDeadlock, 1}}},
		"for its own pods, and down": {func(c *cluster) { c.hook("v", shop, fail, "pods"); c.down(shop) },
			[]found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}}},
		"for its own pods, and ignored": {func(c *cluster) { c.hook("v", shop, ignore, "pods") }, nil},
		"for the pods of other namespaces": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
		}, nil},
		"for pods of another label": {func(c *cluster) {
			c.hook("v", shop, fail, "pods", "pods/status").ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "bank"}}
		}, nil},
		"for the binding of pods":          {func(c *cluster) { c.hook("v", shop, fail, "pods/binding") }, []found{{Warning, PossibleDeadlock, 1}}},
		"for the tokens of pods":           {func(c *cluster) { c.hook("v", shop, fail, "serviceaccounts/token") }, []found{{Warning, PossibleDeadlock, 1}}},
		"for subresources that do no harm": {func(c *cluster) { c.hook("v", shop, fail, "pods/exec") }, nil},

		"two that need each other": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
			c.hook("w", bank, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "bank"})
		}, []found{{Warning, PossibleDeadlock, 2}}},
		"two that need each other, both down": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
			c.hook("w", bank, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "bank"})
			c.down(shop)
			c.down(bank)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 2}}},
		"two that need each other, one down: the other lets it come back": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
			c.hook("w", bank, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "bank"})
			c.down(shop)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 2}}},
		"one that needs another, which needs nobody": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
		}, nil},
		"a conversion that needs a webhook that needs nobody": {func(c *cluster) {
			c.crds = converted(bank, "v1", "v2")
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
		}, nil},

		"the control plane depends on it": {func(c *cluster) { c.hook("v", shop, fail, "leases") }, []found{{Warning, ControlPlaneDepends, 1}}},
		"the control plane is blocked by it": {func(c *cluster) { c.hook("v", shop, fail, "nodes/status"); c.down(shop) },
			[]found{{Error, "NoReadyEndpoints", 1}, {Error, ControlPlaneBlocked, 1}}},
		"a selector does not keep nodes out": {func(c *cluster) {
			c.hook("v", shop, fail, "nodes/status").NamespaceSelector = selecting(map[string]string{"not": "kube-system"})
		}, []found{{Warning, ControlPlaneDepends, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			test.given(c)
			var got []found
			for _, f := range c.judge() {
				got = append(got, found{f.Level, f.Code, len(f.Webhooks)})
				if f.Message == "" || f.WayOut == "" {
					t.Errorf("%s says nothing: %+v", f.Code, f)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

// A broken APIService fails more than its own requests.
func TestConsequenceOfAnAPIService(t *testing.T) {
	c := newCluster()
	c.apis = aggregated(shop, false)
	c.down(shop)
	const want = "no endpoint of Service shop/hook is ready: requests for v1.shop.io fail, and so does whoever has to know all kinds, as for the deletion of a namespace"
	if found := c.judge(); len(found) != 1 || found[0].Message != want {
		t.Errorf("findings: %+v, want %q", found, want)
	}
}

func aggregated(by types.NamespacedName, unverified bool) []Webhook {
	return []Webhook{{Kind: APIService, Object: "v1.shop.io", Service: by, Port: 443, Fails: true, Unverified: unverified}}
}

func converted(by types.NamespacedName, versions ...string) []apiextensionsv1.CustomResourceDefinition {
	crd := apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"}}
	for _, v := range versions {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v, Served: true})
	}
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: by.Namespace, Name: by.Name}},
	}}
	return []apiextensionsv1.CustomResourceDefinition{crd}
}
