package doctor

import (
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
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
		labels := map[string]string{"app": app}
		pod := Pod{Labels: map[string]string{"app": app, "pod-template-hash": "f6a"}, Placed: true, Started: true, Ready: true}
		return Service{By: route.ByClusterIP, Ports: map[int32]int{443: 2}, Ready: 2, Slices: []map[string]string{{"kubernetes.io/service-name": "hook"}}, Selector: labels, Pods: []Pod{pod, pod}, Templates: []map[string]string{pod.Labels}}
	}
	return &cluster{Facts: Facts{
		Services: map[types.NamespacedName]Service{shop: server("shop"), bank: server("bank")},
		Namespaces: map[string]map[string]string{
			"shop": {"kubernetes.io/metadata.name": "shop"}, "bank": {"kubernetes.io/metadata.name": "bank"},
			"kube-system": {"kubernetes.io/metadata.name": "kube-system"}, "kube-node-lease": {"kubernetes.io/metadata.name": "kube-node-lease"},
		},
		ControlPlane: ControlPlane{
			Nodes:  []map[string]string{{"kubernetes.io/os": "linux", "kubernetes.io/hostname": "a"}},
			Leases: map[string][]map[string]string{"kube-system": {nil}, "kube-node-lease": {nil}},
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

// change changes what a Service selects, after all its pods became unready.
func (c *cluster) change(s types.NamespacedName, changes ...func(*Service)) {
	service := c.Services[s]
	service.Ready, service.Ports = 0, map[int32]int{443: 0}
	for i := range service.Pods {
		service.Pods[i].Ready = false
	}
	for _, change := range changes {
		change(&service)
	}
	c.Services[s] = service
}

// down is that the pods are there, and crash.
func (c *cluster) down(s types.NamespacedName) { c.change(s) }

// lose is that no pod is there any more, and what makes them still is.
func (c *cluster) lose(s types.NamespacedName) { c.change(s, withoutPods) }

func withoutPods(s *Service)      { s.Pods = nil }
func withoutTemplates(s *Service) { s.Templates = nil }
func withoutSlices(s *Service)    { s.Slices = nil }

// withPod adds one that has come so far.
func withPod(p Pod) func(*Service) {
	return func(s *Service) { s.Pods = append(s.Pods, p) }
}

func mayNotRead(kinds ...string) func(*Service) {
	return func(s *Service) { s.Unread = kinds }
}

// judge answers for all pods that were not asked otherwise: they serve for a month.
func (c *cluster) judge() []Finding {
	c.Webhooks = append(Webhooks(c.validating, nil, c.crds), c.apis...)
	for _, w := range c.Webhooks {
		if _, told := c.Answers[w.String()]; !told {
			c.Answers[w.String()] = answering(c.Services[w.Service].Ports[w.Port])
		}
	}
	return Diagnose(c.Facts, now)
}

func TestJudge(t *testing.T) {
	const fail, ignore = admissionregistrationv1.Fail, admissionregistrationv1.Ignore
	selecting := func(labels map[string]string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpNotIn, Values: []string{labels["not"]},
		}}}
	}
	without := func(label string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: metav1.LabelSelectorOpDoesNotExist}}}
	}
	conditional := []admissionregistrationv1.MatchCondition{{Name: "people", Expression: "true"}}
	type found struct {
		Level Level
		Code  string
		N     int // webhooks that it is about
	}
	for name, test := range map[string]struct {
		given func(c *cluster)
		want  []found
	}{
		"nothing wrong":             {func(c *cluster) { c.hook("v", shop, fail, "configmaps") }, nil},
		"no ready endpoint, Fail":   {func(c *cluster) { c.hook("v", shop, fail, "configmaps"); c.down(shop) }, []found{{Error, "NoReadyEndpoints", 1}}},
		"no ready endpoint, Ignore": {func(c *cluster) { c.hook("v", shop, ignore, "configmaps"); c.down(shop) }, []found{{Warning, "NoReadyEndpoints", 1}}},
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
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = answering(2, "pod a presents another", "pod b presents another")
		}, []found{{Error, "ForeignCertificate", 1}}},
		"one pod of two with a foreign certificate": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = answering(2, "pod b presents another")
		}, []found{{Warning, SomePodsFail, 1}}},
		"a certificate that ends tomorrow": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = []Answer{{Asked: true, NotAfter: now.AddDate(0, 0, 1)}, {Asked: true, NotAfter: now.AddDate(0, 0, 1)}}
		}, []found{{Warning, CertificateExpiresSoon, 1}}},
		"pods that cannot be asked": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = nil
		}, []found{{Unknown, NotAsked, 1}}},
		"somewhere outside": {func(c *cluster) {
			url := "https://policy.example.com"
			c.hook("v", shop, fail, "configmaps").ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url}
		}, []found{{Unknown, NotAsked, 1}}},
		"somewhere outside, with failurePolicy Ignore": {func(c *cluster) {
			url := "https://policy.example.com"
			c.hook("v", shop, ignore, "configmaps").ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: &url}
		}, []found{{Unknown, NotAsked, 1}}},
		"left behind": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.validating[0].Labels = map[string]string{"olm.owner": "shop.v0", "olm.owner.namespace": "shop"}
		}, []found{{Warning, OwnerMissing, 1}}},
		"looked after": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.validating[0].Labels = map[string]string{"olm.owner": "shop.v1", "olm.owner.namespace": "shop"}
		}, nil},

		"a headless Service": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			s := c.Services[shop]
			s.By = route.ByEndpoint
			c.Services[shop] = s
		}, []found{{Unknown, HeadlessService, 1}}},
		"a Service of an external name": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Services[shop] = Service{By: route.ByExternalName, ExternalName: "hook.example.com", ExternalEndpoints: true}
		}, []found{{Unknown, NotAsked, 1}}},
		"ready endpoints, and none at the port": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			s := c.Services[shop]
			s.Ports = map[int32]int{443: 0}
			c.Services[shop] = s
		}, []found{{Error, "NoEndpointAtPort", 1}}},
		"one endpoint of two that was not asked": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = append(answering(1), Answer{Endpoint: "pod b", Message: "port-forward is refused"})
		}, []found{{Unknown, NotAsked, 1}}},
		"one endpoint of two that nothing is known of": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = answering(1)
		}, []found{{Unknown, NotAsked, 1}}},
		"one endpoint that fails, and one that was not asked": {func(c *cluster) {
			c.hook("v", shop, fail, "configmaps")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = append(answering(1, "pod a presents another"), Answer{Endpoint: "pod b"})
		}, []found{{Warning, SomePodsFail, 1}, {Unknown, NotAsked, 1}}},
		"a selector of no namespace": {func(c *cluster) {
			w := c.hook("v", types.NamespacedName{Namespace: "gone", Name: "hook"}, fail, "configmaps")
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "nobody"}}
			w.Rules[0].Scope = new(admissionregistrationv1.NamespacedScope)
		}, []found{{Warning, "ServiceMissing", 1}}},
		"a selector of no namespace, and what is in none": {func(c *cluster) {
			w := c.hook("v", types.NamespacedName{Namespace: "gone", Name: "hook"}, fail, "persistentvolumes")
			w.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "nobody"}}
		}, []found{{Error, "ServiceMissing", 1}}},
		"no rules": {func(c *cluster) {
			c.hook("v", types.NamespacedName{Namespace: "gone", Name: "hook"}, fail, "configmaps").Rules = nil
		}, []found{{Warning, "ServiceMissing", 1}}},

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
		}, []found{{Unknown, NotAsked, 1}}},

		"it is called for its own pods": {func(c *cluster) { c.hook("v", shop, fail, "pods") }, []found{{Warning, PossibleDeadlock, 1}}},
		"for its own pods, which are lost": {func(c *cluster) { c.hook("v", shop, fail, "pods"); c.lose(shop) },
			[]found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}}},
		"for its own pods, which crash: they restart in place": {func(c *cluster) { c.hook("v", shop, fail, "pods"); c.down(shop) },
			[]found{{Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 1}}},
		"for its own pods, which serve a foreign certificate": {func(c *cluster) {
			c.hook("v", shop, fail, "pods")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = answering(2, "pod a presents another", "pod b presents another")
		}, []found{{Error, "ForeignCertificate", 1}, {Warning, PossibleDeadlock, 1}}},
		"for its own pods, which are being deleted and serve till then": {func(c *cluster) {
			c.hook("v", shop, fail, "pods")
			c.change(shop, withoutPods, func(s *Service) { s.Ready, s.Ports = 2, map[int32]int{443: 2} })
		}, []found{{Warning, PossibleDeadlock, 1}}},
		"for all pods, and no Service": {func(c *cluster) {
			c.hook("v", types.NamespacedName{Namespace: "shop", Name: "gone"}, fail, "pods")
		}, []found{{Error, "ServiceMissing", 1}}},
		"for its own pods, of which one is missing and one crashes": {func(c *cluster) {
			c.hook("v", shop, fail, "pods")
			c.change(shop, withoutPods, withPod(Pod{Placed: true, Started: true}))
		}, []found{{Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 1}}},
		"for what pods that crash say": {func(c *cluster) { c.hook("v", shop, fail, "pods/status"); c.down(shop) },
			[]found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}}},
		"for what pods that crash say, one of which it leaves out": {func(c *cluster) {
			c.hook("v", shop, fail, "pods/status").ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}
			c.change(shop, withPod(Pod{Placed: true, Started: true}))
		}, []found{{Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 1}}},
		"for the endpoints of pods that crash": {func(c *cluster) { c.hook("v", shop, fail, "endpointslices"); c.down(shop) },
			[]found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}}},
		"for endpoints": {func(c *cluster) { c.hook("v", shop, fail, "endpointslices") }, []found{{Warning, PossibleDeadlock, 1}}},
		"for endpoints, with pods that serve a foreign certificate": {func(c *cluster) {
			c.hook("v", shop, fail, "endpointslices")
			c.Answers["ValidatingWebhookConfiguration v: webhook v"] = answering(2, "pod a presents another", "pod b presents another")
		}, []found{{Error, "ForeignCertificate", 1}, {Warning, PossibleDeadlock, 1}}},
		"for endpoints that are made, and are there": {func(c *cluster) {
			c.hook("v", shop, fail, "endpointslices").Rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
			c.lose(shop)
		}, []found{{Error, "NoReadyEndpoints", 1}}},
		"for endpoints that are made, and are not there": {func(c *cluster) {
			c.hook("v", shop, fail, "endpointslices").Rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
			c.change(shop, withoutPods, withoutSlices)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}}},
		"for the tokens of pods that crash: they have theirs": {func(c *cluster) { c.hook("v", shop, fail, "serviceaccounts/token"); c.down(shop) },
			[]found{{Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 1}}},
		"for the tokens of pods that have not started": {func(c *cluster) {
			c.hook("v", shop, fail, "serviceaccounts/token")
			c.change(shop, withoutPods, withPod(Pod{Placed: true}))
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}}},
		"for the binding of pods that have no node": {func(c *cluster) {
			c.hook("v", shop, fail, "pods/binding")
			c.change(shop, withoutPods, withPod(Pod{}))
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}}},
		"for the binding of pods that have one": {func(c *cluster) { c.hook("v", shop, fail, "pods/binding"); c.down(shop) },
			[]found{{Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 1}}},

		"for its own pods, on conditions": {func(c *cluster) { c.hook("v", shop, fail, "pods").MatchConditions = conditional }, []found{{Warning, PossibleDeadlock, 1}}},
		"for its own pods, which are lost, on conditions": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").MatchConditions = conditional
			c.lose(shop)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 1}}},
		"two that need each other, both lost, one on conditions": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
			w := c.hook("w", bank, fail, "pods")
			w.NamespaceSelector, w.MatchConditions = selecting(map[string]string{"not": "bank"}), conditional
			c.lose(shop)
			c.lose(bank)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 2}}},

		"for lost pods of a label that their template has": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"pod-template-hash": "f6a"}}
			c.lose(shop)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}}},
		"for lost pods without a label that their template has": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").ObjectSelector = without("pod-template-hash")
			c.lose(shop)
		}, []found{{Error, "NoReadyEndpoints", 1}}},
		"for lost pods that nothing makes": {func(c *cluster) {
			c.hook("v", shop, fail, "pods")
			c.change(shop, withoutPods, withoutTemplates)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}}},
		"for lost pods that nothing makes, without a label": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").ObjectSelector = without("pod-template-hash")
			c.change(shop, withoutPods, withoutTemplates)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 1}}},
		"for what lost pods say that nothing makes, without a label": {func(c *cluster) {
			c.hook("v", shop, fail, "pods/status").ObjectSelector = without("pod-template-hash")
			c.change(shop, withoutPods, withoutTemplates)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 1}}},
		"for lost pods, and what makes them may not be read": {func(c *cluster) {
			c.hook("v", shop, fail, "pods")
			c.change(shop, withoutPods, withoutTemplates, mayNotRead("replicasets"))
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}, {Unknown, WorkloadsUnread, 1}}},
		"for its own pods, and something that makes pods may not be read": {func(c *cluster) {
			c.hook("v", shop, fail, "pods")
			c.change(shop, withoutPods, mayNotRead("daemonsets"))
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 1}}},
		"one without required requests, and what makes its pods may not be read": {func(c *cluster) {
			c.hook("v", shop, ignore, "pods")
			c.change(shop, withoutPods, withoutTemplates, mayNotRead("replicasets"))
		}, []found{{Warning, "NoReadyEndpoints", 1}}},
		"endpoints without pods": {func(c *cluster) {
			c.hook("v", shop, fail, "pods")
			c.change(shop, withoutPods, func(s *Service) { s.ExternalEndpoints, s.Templates, s.Selector = true, nil, nil })
		}, []found{{Error, "NoReadyEndpoints", 1}}},
		"for its own pods, and ignored": {func(c *cluster) { c.hook("v", shop, ignore, "pods") }, nil},
		"for its own pods, which are lost, and ignored": {func(c *cluster) { c.hook("v", shop, ignore, "pods"); c.lose(shop) },
			[]found{{Warning, "NoReadyEndpoints", 1}}},
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
		"two that need each other, both lost": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
			c.hook("w", bank, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "bank"})
			c.lose(shop)
			c.lose(bank)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, "NoReadyEndpoints", 1}, {Error, Deadlock, 2}}},
		"two that need each other, one lost: the other does not block it": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
			c.hook("w", bank, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "bank"})
			c.lose(shop)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Warning, PossibleDeadlock, 2}}},
		"one that needs another, which needs no other": {func(c *cluster) {
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
		}, nil},
		"a conversion that needs a webhook that needs no other": {func(c *cluster) {
			c.crds = converted(bank, "v1", "v2")
			c.hook("v", shop, fail, "pods").NamespaceSelector = selecting(map[string]string{"not": "shop"})
		}, nil},

		"the control plane depends on it": {func(c *cluster) { c.hook("v", shop, fail, "leases") }, []found{{Warning, ControlPlaneDepends, 1}}},
		"the control plane is blocked by it": {func(c *cluster) { c.hook("v", shop, fail, "nodes/status"); c.down(shop) },
			[]found{{Error, "NoReadyEndpoints", 1}, {Error, ControlPlaneBlocked, 1}}},
		"the labels of nodes are selected": {func(c *cluster) {
			c.hook("v", shop, fail, "nodes/status").ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/os": "linux"}}
			c.down(shop)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Error, ControlPlaneBlocked, 1}}},
		"labels are selected that no node and no lease has": {func(c *cluster) {
			c.hook("v", shop, fail, "*/*").ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}
		}, nil},
		"labels of nodes are selected, which may not be listed": {func(c *cluster) {
			c.hook("v", shop, fail, "nodes/status").ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/os": "linux"}}
			c.ControlPlane.Nodes, c.ControlPlane.Unread = nil, []string{"nodes"}
			c.down(shop)
		}, []found{{Error, "NoReadyEndpoints", 1}, {Warning, ControlPlaneDepends, 1}}},
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
				if f.Message == "" || f.Remedy == "" {
					t.Errorf("%s says nothing: %+v", f.Code, f)
				}
			}
			installtest.Same(t, "findings", test.want, got)
		})
	}
}

// What is certain is said as such, and what else could be so as well.
func TestDoubtsAboutADeadlock(t *testing.T) {
	const (
		allLost = "none of its pods is called, and none can become ready: it intercepts what the pods behind its own Service shop/hook need to start"
		someday = "if all of its pods are lost at once, as when all nodes are replaced, none can become ready: it intercepts what the pods behind its own Service shop/hook need to start"
	)
	condition := func(w *admissionregistrationv1.ValidatingWebhook) {
		w.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "people", Expression: "true"}}
	}
	selector := func(w *admissionregistrationv1.ValidatingWebhook) {
		w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop", "pod-template-hash": "f6a"}}
	}
	for name, test := range map[string]struct {
		webhook          func(*admissionregistrationv1.ValidatingWebhook)
		endpointFindings []func(*Service)
		want             string
		breaks           bool // the deadlock, by a command
	}{
		"none":                         {func(*admissionregistrationv1.ValidatingWebhook) {}, []func(*Service){withoutPods}, allLost, true},
		"labels that are known":        {selector, []func(*Service){withoutPods}, allLost, true},
		"conditions":                   {condition, []func(*Service){withoutPods}, allLost + ", unless its matchConditions exempt them", true},
		"labels that are not known":    {selector, []func(*Service){withoutPods, withoutTemplates}, allLost + ", unless those bear labels that an objectSelector leaves out", true},
		"pods that are there":          {func(*admissionregistrationv1.ValidatingWebhook) {}, nil, someday, false},
		"pods that are there, besides": {condition, nil, someday + ", unless its matchConditions exempt them", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			test.webhook(c.hook("v", shop, admissionregistrationv1.Fail, "pods"))
			c.change(shop, test.endpointFindings...)
			found := c.judge()
			last := found[len(found)-1]
			if last.Message != test.want || strings.HasPrefix(last.Remedy, "kubectl delete validatingwebhookconfiguration v (") != test.breaks {
				t.Errorf("%s: %s\nway out: %s\nwant %s", last.Code, last.Message, last.Remedy, test.want)
			}
		})
	}
}

// Leftover endpoints look ready to clients that list them.
func TestEndpointsThatAreLeftOver(t *testing.T) {
	c := newCluster()
	c.hook("v", shop, admissionregistrationv1.Fail, "endpointslices")
	c.change(shop, withoutPods, func(s *Service) { s.LeftOver = 2 })
	found := c.judge()
	const want = "the endpoints of Service shop/hook are left over from pods that no longer exist: the API server refuses * of endpointslices.*"
	if len(found) != 2 || found[0].Message != want || found[1].Code != Deadlock {
		t.Errorf("findings: %+v, want %q and a deadlock", found, want)
	}
}

// A broken APIService fails more than its own requests.
func TestConsequenceOfAnAPIService(t *testing.T) {
	c := newCluster()
	c.apis = aggregated(shop, false)
	c.down(shop)
	const want = "no endpoint of Service shop/hook is ready: requests for v1.shop.io fail, and so do clients that need all kinds, such as the deletion of namespaces"
	if found := c.judge(); len(found) != 1 || found[0].Message != want {
		t.Errorf("findings: %+v, want %q", found, want)
	}
}

// answering are those of so many endpoints: failures first, the others serve for a month.
func answering(n int, failures ...string) []Answer {
	all := make([]Answer, n)
	for i := range all {
		all[i] = Answer{Endpoint: "pod a", Asked: true, NotAfter: now.AddDate(0, 1, 0)}
		if i < len(failures) {
			all[i] = Answer{Endpoint: "pod a", Asked: true, Reason: "ForeignCertificate", Message: failures[i]}
		}
	}
	return all
}

func aggregated(by types.NamespacedName, unverified bool) []Webhook {
	return []Webhook{{Kind: APIService, Object: "v1.shop.io", Service: by, Port: 443, Fails: true, Unverified: unverified, Available: metav1.ConditionTrue}}
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
