package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

var now = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// cluster has two webhook servers, of two pods each, in namespaces of their own, and nothing wrong with them.
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
		if _, known := c.Answers[w.String()]; !known {
			c.Answers[w.String()] = answering(c.Services[w.Service].Ports[w.Port])
		}
	}
	return Diagnose(c.Facts, now)
}

// change changes a cluster that has the webhook v.
type change func(*cluster)

// hooked adds the webhook v of the Service shop, and then changes it and the cluster.
func hooked(policy admissionregistrationv1.FailurePolicyType, resource string, changes ...change) change {
	return func(c *cluster) {
		c.hook("v", shop, policy, resource)
		for _, change := range changes {
			change(c)
		}
	}
}

func (c *cluster) v() *admissionregistrationv1.ValidatingWebhook { return &c.validating[0].Webhooks[0] }

// served changes the Service shop after all its pods became unready.
func served(changes ...func(*Service)) change {
	return func(c *cluster) { c.change(shop, changes...) }
}

// whose changes the Service shop, whose pods are ready.
func whose(change func(*Service)) change {
	return func(c *cluster) {
		s := c.Services[shop]
		change(&s)
		c.Services[shop] = s
	}
}

func answered(answers []Answer) change {
	return func(c *cluster) { c.Answers["ValidatingWebhookConfiguration v: webhook v"] = answers }
}

func owned(csv string) change {
	return func(c *cluster) {
		c.validating[0].Labels = map[string]string{"olm.owner": csv, "olm.owner.namespace": "shop"}
	}
}

func objects(selector *metav1.LabelSelector) change {
	return func(c *cluster) { c.v().ObjectSelector = selector }
}

func namespaces(selector *metav1.LabelSelector) change {
	return func(c *cluster) { c.v().NamespaceSelector = selector }
}

func with(label, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{label: value}}
}

func selecting(label string, operator metav1.LabelSelectorOperator, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: label, Operator: operator, Values: values}}}
}

func outside(namespace string) *metav1.LabelSelector {
	return selecting("kubernetes.io/metadata.name", metav1.LabelSelectorOpNotIn, namespace)
}

func conditional(c *cluster) {
	c.v().MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "people", Expression: "true"}}
}

// secondConditional gives conditions to the second of two webhooks.
func secondConditional(c *cluster) {
	c.validating[1].Webhooks[0].MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "people", Expression: "true"}}
}

// mutual makes webhook v and another need each other.
func mutual(c *cluster) {
	c.v().NamespaceSelector = outside("shop")
	c.hook("w", bank, admissionregistrationv1.Fail, "pods").NamespaceSelector = outside("bank")
}

func TestJudge(t *testing.T) {
	const fail, ignore = admissionregistrationv1.Fail, admissionregistrationv1.Ignore
	type found struct {
		Level Level
		Code  string
		N     int // webhooks that it is about
	}
	missing, ignoredMissing := found{Error, "ServiceMissing", 1}, found{Warning, "ServiceMissing", 1}
	down, ignoredDown := found{Error, "NoReadyEndpoints", 1}, found{Warning, "NoReadyEndpoints", 1}
	deadlock, possible := found{Error, Deadlock, 1}, found{Warning, PossibleDeadlock, 1}
	otherCertificate, notAsked := found{Error, "ForeignCertificate", 1}, found{Unknown, NotAsked, 1}
	others := answered(answering(2, "pod a presents another", "pod b presents another"))
	crashed, lost, workloadsLost := served(), served(withoutPods), served(withoutPods, withoutTemplates)
	bankLost := func(c *cluster) { c.change(bank, withoutPods) }
	serviceMissing := func(c *cluster) { c.v().ClientConfig.Service.Namespace = "gone" }
	external := func(c *cluster) {
		c.v().ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: new("https://policy.example.com")}
	}
	creations := func(c *cluster) {
		c.v().Rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
	}
	unhashed := selecting("pod-template-hash", metav1.LabelSelectorOpDoesNotExist)
	tomorrow := Answer{Asked: true, NotAfter: now.AddDate(0, 0, 1)}
	for name, test := range map[string]struct {
		given change
		want  []found
	}{
		"nothing wrong":             {hooked(fail, "configmaps"), nil},
		"no ready endpoint, Fail":   {hooked(fail, "configmaps", crashed), []found{down}},
		"no ready endpoint, Ignore": {hooked(ignore, "configmaps", crashed), []found{ignoredDown}},
		"open": {hooked(ignore, "configmaps", crashed, func(c *cluster) {
			c.validating[0].Annotations = map[string]string{"olm-webhook-manager.io/fail-open": "All"}
		}), []found{{Warning, WebhookOpen, 1}, ignoredDown}},
		"no Service": {hooked(fail, "configmaps", serviceMissing), []found{missing}},
		"no such port": {hooked(fail, "configmaps", func(c *cluster) {
			c.v().ClientConfig.Service.Port = new(int32(8443))
		}), []found{{Error, "PortMissing", 1}}},
		"a caBundle of noise": {hooked(fail, "configmaps", func(c *cluster) {
			c.v().ClientConfig.CABundle = []byte("noise")
		}), []found{{Error, "CABundleUnreadable", 1}}},
		"another client's certificate": {hooked(fail, "configmaps", others), []found{otherCertificate}},
		"one pod of two with another client's certificate": {hooked(fail, "configmaps", answered(answering(2, "pod b presents another"))),
			[]found{{Error, SomePodsFail, 1}}},
		"one pod of two with another client's certificate, and ignored": {hooked(ignore, "configmaps", answered(answering(2, "pod b presents another"))),
			[]found{{Warning, SomePodsFail, 1}}},
		"one pod of two with another client's certificate, for no namespace": {hooked(fail, "configmaps", answered(answering(2, "pod b presents another")), namespaces(with("team", "nobody")),
			func(c *cluster) {
				c.v().Rules[0].Scope = new(admissionregistrationv1.NamespacedScope)
			}), []found{{Warning, SomePodsFail, 1}}},
		"a certificate that expires tomorrow": {hooked(fail, "configmaps", answered([]Answer{tomorrow, tomorrow})),
			[]found{{Warning, CertificateExpiresSoon, 1}}},
		"pods that cannot be asked":                    {hooked(fail, "configmaps", answered(nil)), []found{notAsked}},
		"somewhere outside":                            {hooked(fail, "configmaps", external), []found{notAsked}},
		"somewhere outside, with failurePolicy Ignore": {hooked(ignore, "configmaps", external), []found{notAsked}},
		"left behind":                                  {hooked(fail, "configmaps", owned("shop.v0")), []found{{Warning, OwnerMissing, 1}}},
		"looked after":                                 {hooked(fail, "configmaps", owned("shop.v1")), nil},

		"a headless Service": {hooked(fail, "configmaps", whose(func(s *Service) { s.By = route.ByEndpoint })), []found{{Unknown, HeadlessService, 1}}},
		"a Service of an external name": {hooked(fail, "configmaps", whose(func(s *Service) {
			*s = Service{By: route.ByExternalName, ExternalName: "hook.example.com", ExternalEndpoints: true}
		})), []found{notAsked}},
		"ready endpoints, and none at the port": {hooked(fail, "configmaps", whose(func(s *Service) { s.Ports = map[int32]int{443: 0} })),
			[]found{{Error, "NoEndpointAtPort", 1}}},
		"one endpoint of two that was not asked": {hooked(fail, "configmaps", answered(append(answering(1),
			Answer{Endpoint: "pod b", Message: "port-forward is refused"}))), []found{notAsked}},
		"one endpoint of two that nothing is known of": {hooked(fail, "configmaps", answered(answering(1))), []found{notAsked}},
		"one endpoint that fails, and one that was not asked": {hooked(fail, "configmaps", answered(append(answering(1, "pod a presents another"),
			Answer{Endpoint: "pod b"}))), []found{{Error, SomePodsFail, 1}, notAsked}},
		"a selector of no namespace": {hooked(fail, "configmaps", serviceMissing, namespaces(with("team", "nobody")),
			func(c *cluster) {
				c.v().Rules[0].Scope = new(admissionregistrationv1.NamespacedScope)
			}), []found{ignoredMissing}},
		"a selector of no namespace, and what is in none": {hooked(fail, "persistentvolumes", serviceMissing, namespaces(with("team", "nobody"))),
			[]found{missing}},
		"no rules": {hooked(fail, "configmaps", serviceMissing, func(c *cluster) { c.v().Rules = nil }), []found{ignoredMissing}},

		"a conversion that objects need": {func(c *cluster) { c.crds = converted(shop, "v1", "v2"); c.change(shop) }, []found{down}},
		"a conversion of one version":    {func(c *cluster) { c.crds = converted(shop, "v1"); c.change(shop) }, []found{ignoredDown}},

		"an APIService that is served": {func(c *cluster) { c.apis = aggregated(shop, false) }, nil},
		"an APIService that is not":    {func(c *cluster) { c.apis = aggregated(shop, false); c.change(shop) }, []found{down}},
		"an APIService that cannot be asked": {func(c *cluster) {
			c.apis = aggregated(shop, false)
			c.Answers["APIService v1.shop.io"] = nil
		}, []found{notAsked}},
		"an APIService that trusts anybody, and is not asked": {func(c *cluster) {
			c.apis = aggregated(shop, true)
			c.Answers["APIService v1.shop.io"] = nil
		}, []found{notAsked}},

		"it is called for its own pods":                              {hooked(fail, "pods"), []found{possible}},
		"for its own pods, which are lost":                           {hooked(fail, "pods", lost), []found{down, deadlock}},
		"for its own pods, which crash: they restart in place":       {hooked(fail, "pods", crashed), []found{down, possible}},
		"for its own pods, which serve another client's certificate": {hooked(fail, "pods", others), []found{otherCertificate, possible}},
		"for its own pods, which are being deleted and serve till then": {hooked(fail, "pods",
			served(withoutPods, func(s *Service) { s.Ready, s.Ports = 2, map[int32]int{443: 2} })), []found{possible}},
		"for all pods, and no Service": {hooked(fail, "pods", func(c *cluster) {
			c.v().ClientConfig.Service.Name = "gone"
		}), []found{missing}},
		"for its own pods, of which one is missing and one crashes": {hooked(fail, "pods",
			served(withoutPods, withPod(Pod{Placed: true, Started: true}))), []found{down, possible}},
		"for messages of pods that crash": {hooked(fail, "pods/status", crashed), []found{down, deadlock}},
		"for messages of pods that crash, one of which it leaves out": {hooked(fail, "pods/status",
			objects(with("app", "shop")), served(withPod(Pod{Placed: true, Started: true}))), []found{down, possible}},
		"for the endpoints of pods that crash": {hooked(fail, "endpointslices", crashed), []found{down, deadlock}},
		"for endpoints":                        {hooked(fail, "endpointslices"), []found{possible}},
		"for endpoints, with pods that serve another client's certificate": {hooked(fail, "endpointslices", others), []found{otherCertificate, possible}},
		"for endpoints that are created, and exist":                        {hooked(fail, "endpointslices", creations, lost), []found{down}},
		"for endpoints that are created, and do not exist": {hooked(fail, "endpointslices", creations, served(withoutPods, withoutSlices)),
			[]found{down, deadlock}},
		"for the tokens of pods that crash: they have theirs": {hooked(fail, "serviceaccounts/token", crashed), []found{down, possible}},
		"for the tokens of pods that have not started": {hooked(fail, "serviceaccounts/token", served(withoutPods, withPod(Pod{Placed: true}))),
			[]found{down, deadlock}},
		"for the binding of pods that have no node": {hooked(fail, "pods/binding", served(withoutPods, withPod(Pod{}))), []found{down, deadlock}},
		"for the binding of pods that have one":     {hooked(fail, "pods/binding", crashed), []found{down, possible}},

		"for its own pods, on conditions":                        {hooked(fail, "pods", conditional), []found{possible}},
		"for its own pods, which are lost, on conditions":        {hooked(fail, "pods", conditional, lost), []found{down, possible}},
		"two that need each other, both lost, one on conditions": {hooked(fail, "pods", mutual, secondConditional, lost, bankLost), []found{down, down, {Warning, PossibleDeadlock, 2}}},

		"for lost pods of a label that their template has":      {hooked(fail, "pods", objects(with("pod-template-hash", "f6a")), lost), []found{down, deadlock}},
		"for lost pods without a label that their template has": {hooked(fail, "pods", objects(unhashed), lost), []found{down}},
		"for lost pods that nothing makes":                      {hooked(fail, "pods", workloadsLost), []found{down, deadlock}},
		"for lost pods that nothing makes, without a label": {hooked(fail, "pods", objects(unhashed), workloadsLost),
			[]found{down, possible}},
		"for messages of lost pods that nothing recreates, without a label": {hooked(fail, "pods/status", objects(unhashed), workloadsLost),
			[]found{down, possible}},
		"for lost pods, and what creates them may not be read": {hooked(fail, "pods", served(withoutPods, withoutTemplates, mayNotRead("replicasets"))),
			[]found{down, deadlock, {Unknown, WorkloadsUnread, 1}}},
		"for its own pods, which may not be read: one of them may become ready": {hooked(fail, "pods", served(withoutPods, mayNotRead("pods"))),
			[]found{down, possible, {Unknown, WorkloadsUnread, 1}}},
		"for its own pods, which may not be read, nor what creates them": {hooked(fail, "pods", served(withoutPods, withoutTemplates, mayNotRead("pods", "replicasets"))),
			[]found{down, possible, {Unknown, WorkloadsUnread, 1}}},
		"for its own pods, and something that creates pods may not be read": {hooked(fail, "pods", served(withoutPods, mayNotRead("daemonsets"))),
			[]found{down, deadlock}},
		"one without required requests, and what creates its pods may not be read": {hooked(ignore, "pods",
			served(withoutPods, withoutTemplates, mayNotRead("replicasets"))), []found{ignoredDown}},
		"endpoints without pods": {hooked(fail, "pods", served(withoutPods, func(s *Service) {
			s.ExternalEndpoints, s.Templates, s.Selector = true, nil, nil
		})), []found{down}},
		"for its own pods, and ignored":                 {hooked(ignore, "pods"), nil},
		"for its own pods, which are lost, and ignored": {hooked(ignore, "pods", lost), []found{ignoredDown}},
		"for the pods of other namespaces":              {hooked(fail, "pods", namespaces(outside("shop"))), nil},
		"for pods of another label": {hooked(fail, "pods", objects(with("app", "bank")), func(c *cluster) {
			c.v().Rules[0].Resources = []string{"pods", "pods/status"}
		}), nil},
		"for the binding of pods":          {hooked(fail, "pods/binding"), []found{possible}},
		"for the tokens of pods":           {hooked(fail, "serviceaccounts/token"), []found{possible}},
		"for subresources that do no harm": {hooked(fail, "pods/exec"), nil},

		"two that need each other":            {hooked(fail, "pods", mutual), []found{{Warning, PossibleDeadlock, 2}}},
		"two that need each other, both lost": {hooked(fail, "pods", mutual, lost, bankLost), []found{down, down, {Error, Deadlock, 2}}},
		"two that need each other, one lost: the other does not block it": {hooked(fail, "pods", mutual, lost),
			[]found{down, {Warning, PossibleDeadlock, 2}}},
		"a conversion that needs a webhook that needs no other": {hooked(fail, "pods", namespaces(outside("shop")),
			func(c *cluster) { c.crds = converted(bank, "v1", "v2") }), nil},

		"the control plane depends on it":    {hooked(fail, "leases"), []found{{Warning, ControlPlaneDepends, 1}}},
		"the control plane is blocked by it": {hooked(fail, "nodes/status", crashed), []found{down, {Error, ControlPlaneBlocked, 1}}},
		"the labels of nodes are selected": {hooked(fail, "nodes/status", objects(with("kubernetes.io/os", "linux")), crashed),
			[]found{down, {Error, ControlPlaneBlocked, 1}}},
		"labels are selected that no node and no lease has": {hooked(fail, "*/*", objects(with("team", "shop"))), nil},
		"labels of nodes are selected, which may not be listed": {hooked(fail, "nodes/status", objects(with("kubernetes.io/os", "linux")), crashed,
			func(c *cluster) {
				c.ControlPlane.Nodes, c.ControlPlane.Unread = nil, []string{"nodes"}
			}), []found{down, {Warning, ControlPlaneDepends, 1}}},
		"a selector does not keep nodes out": {hooked(fail, "nodes/status", namespaces(outside("kube-system"))),
			[]found{{Warning, ControlPlaneDepends, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			test.given(c)
			var got []found
			for _, f := range c.judge() {
				got = append(got, found{f.Level, f.Code, len(f.Webhooks)})
				if f.Message == "" || f.Remedy == "" {
					t.Errorf("%s reports nothing: %+v", f.Code, f)
				}
			}
			installtest.Same(t, "findings", test.want, got)
		})
	}
}

// Thousands of webhooks that wait for each other are one finding, and do not take minutes.
func TestDeadlockOfManyWebhooks(t *testing.T) {
	const many = 2000
	c := newCluster()
	for i := range many {
		c.hook(fmt.Sprintf("v%04d", i), shop, admissionregistrationv1.Fail, "pods")
	}
	c.change(shop, withoutPods)
	deadlock := lists.First(c.judge(), func(f Finding) bool { return f.Code == Deadlock })
	installtest.Same(t, "webhooks of the deadlock", many, len(deadlock.Webhooks))
}

// What is certain is reported as such, and what else is possible, too.
func TestDoubtsAboutADeadlock(t *testing.T) {
	const (
		allLost = "none of its pods is called, and none can become ready: it intercepts what the pods behind its own Service shop/hook need to start"
		someday = "if all of its pods are lost at once, as when all nodes are replaced, none can become ready: it intercepts what the pods behind its own Service shop/hook need to start"
	)
	selector := objects(&metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop", "pod-template-hash": "f6a"}})
	unchanged := func(*cluster) {}
	for name, test := range map[string]struct {
		webhook          change
		endpointFindings []func(*Service)
		want             string
		breaks           bool // the deadlock, by a command
	}{
		"none":                         {unchanged, []func(*Service){withoutPods}, allLost, true},
		"labels that are known":        {selector, []func(*Service){withoutPods}, allLost, true},
		"conditions":                   {conditional, []func(*Service){withoutPods}, allLost + ", unless its matchConditions exempt them", true},
		"labels that are not known":    {selector, []func(*Service){withoutPods, withoutTemplates}, allLost + ", unless those have labels that an objectSelector leaves out", true},
		"pods that exist":              {unchanged, nil, someday, false},
		"pods that exist, in addition": {conditional, nil, someday + ", unless its matchConditions exempt them", false},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster()
			hooked(admissionregistrationv1.Fail, "pods", test.webhook, served(test.endpointFindings...))(c)
			found := c.judge()
			last := found[len(found)-1]
			deletes := strings.HasPrefix(last.Remedy, "kubectl delete validatingwebhookconfiguration v (")
			installtest.Same(t, last.Code, test.want, last.Message)
			installtest.Same(t, "the remedy deletes it: "+last.Remedy, test.breaks, deletes)
		})
	}
}

// Leftover endpoints look ready to clients that list them.
func TestLeftoverEndpoints(t *testing.T) {
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
	c.change(shop)
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
