package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/reviews"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// unregistered returns a cluster in which the webhook of Deployment "manager" can be registered.
func unregistered(t *testing.T) *cluster {
	t.Helper()
	c := clusterWith(t, webhookOf("manager"))
	c.reconcile()
	c.becomeAvailable("manager")
	c.wait(time.Second)
	return c
}

func TestRegistrationGates(t *testing.T) {
	const (
		webhook     = "v.manager.example.com"
		register    = "create ValidatingWebhookConfiguration " + webhook
		registering = "Registering: the registration is being written"
		noEndpoint  = "NoReadyEndpoints: service manager-service has no ready endpoint"
		untrusted   = "UntrustedCertificate: pod shop/manager-0 serves a certificate of another CA"
		unavailable = `DeploymentNotAvailable: deployment "manager" not available: `
		noReplicas  = unavailable + "Deployment does not have minimum availability."
	)
	refusedBy := func(what string) func(backends.Endpoint) backends.Answer {
		return func(e backends.Endpoint) backends.Answer {
			if e.What == what {
				return backends.Answer{Reason: "UntrustedCertificate", Message: "pod shop/manager-0 serves a certificate of another CA"}
			}
			return backends.Answer{}
		}
	}
	live := func(c *cluster) *appsv1.Deployment { return c.Observed.Deployments["manager"] }
	endpoints := func(c *cluster) *discoveryv1.EndpointSlice { return c.Observed.Slices["manager-service"][0] }
	for name, test := range map[string]struct {
		change      func(*cluster)
		wantSteps   []string
		want        string // why the webhook waits
		wantRequeue time.Duration
	}{
		"ready":                           {func(*cluster) {}, []string{register}, registering, 0},
		"the Deployment is not available": {func(c *cluster) { c.becomeUnavailable("manager") }, nil, noReplicas, 0},
		"the Deployment is available and an old replica still runs": {func(c *cluster) { live(c).Status.Replicas = 2 },
			nil, unavailable + "1 old replicas are not gone yet", 0},
		"the Deployment's last change is not observed yet": {func(c *cluster) { live(c).Generation++ },
			nil, unavailable + "the Deployment controller has not observed it yet", 0},
		"the Deployment is changed in this reconciliation": {
			func(c *cluster) { c.spec("manager").Spec.Template.Spec.Containers[0].Image = "shop:2" },
			[]string{`update Deployment shop/manager: metadata.labels.olm.deployment-spec-hash, spec.template.spec.containers[name="manager"].image`},
			unavailable + "it is being updated", 0,
		},
		"another client edits the Service": {
			func(c *cluster) {
				c.Observed.Services["manager-service"].Spec.Selector = map[string]string{"app": "other"}
			},
			[]string{"apply Service shop/manager-service: spec.selector"},
			"ServiceChanged: service manager-service does not lead to the pods that it should: it is being repaired", 0,
		},
		"there is no certificate": {func(c *cluster) { c.Certificates["manager"] = managerv1alpha1.CertificateStatus{} },
			nil, "CertificateMissing: the serving certificate is being written", 0},
		"the certificate cannot be used": {func(c *cluster) {
			c.Certificates["manager"] = managerv1alpha1.CertificateStatus{Message: "Secret shop/manager-service-cert belongs to another client"}
		}, nil, "CertificateUnusable: Secret shop/manager-service-cert belongs to another client", 0},
		"namespaces are not labelled": {func(c *cluster) { c.Observed.UnlabelledNamespaces = []string{"blue", "red"} },
			nil, "NamespacesNotLabelled: namespaces of the OperatorGroup do not have its label yet: blue, red", 0},
		"the Service does not exist": {func(c *cluster) { delete(c.Observed.Services, "manager-service") },
			[]string{"create Service shop/manager-service"}, "ServiceMissing: service manager-service is being created", 0},
		"no endpoint is ready":         {func(c *cluster) { c.serve("manager") }, nil, noEndpoint, 0},
		"endpoints are not ready":      {func(c *cluster) { endpoints(c).Endpoints[0].Conditions.Ready = new(false) }, nil, noEndpoint, 0},
		"endpoints serve another port": {func(c *cluster) { endpoints(c).Ports[0].Name = new("metrics") }, nil, noEndpoint, 0},
		"endpoints without a ready condition": { // nil means ready
			func(c *cluster) { endpoints(c).Endpoints[0].Conditions.Ready = nil }, []string{register}, registering, 0,
		},
		"a pod refuses": {func(c *cluster) { c.answer = refusedBy("pod shop/manager-0") }, nil, untrusted, 100 * time.Millisecond},
		"one pod of several refuses": {func(c *cluster) {
			c.serve("manager", "10.244.0.5", "10.244.0.6", "10.244.0.7")
			c.answer = refusedBy("pod shop/manager-1")
		}, nil, untrusted, 100 * time.Millisecond},
		"the Service's own address refuses": {func(c *cluster) { c.answer = refusedBy("service shop/manager-service") },
			nil, untrusted, 100 * time.Millisecond},
		"a pod refuses for half a minute": {func(c *cluster) {
			c.answer = refusedBy("pod shop/manager-0")
			c.wait(29 * time.Second)
		}, nil, untrusted, 3 * time.Second},
		"a pod refuses for ten minutes": {func(c *cluster) {
			c.answer = refusedBy("pod shop/manager-0")
			c.wait(10 * time.Minute)
		}, nil, untrusted, 30 * time.Second},
		"a pod refuses that took ten minutes to get available": {func(c *cluster) {
			c.answer = refusedBy("pod shop/manager-0")
			c.becomeUnavailable("manager")
			c.wait(10 * time.Minute)
			c.becomeAvailable("manager")
		}, nil, untrusted, 100 * time.Millisecond},
		"no endpoint, gate Available": {func(c *cluster) {
			c.Policy.Gate = GateAvailable
			c.serve("manager")
		}, []string{register}, registering, 0},
		"the Deployment is not available, gate Available": {func(c *cluster) {
			c.Policy.Gate = GateAvailable
			c.becomeUnavailable("manager")
		}, nil, noReplicas, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := unregistered(t)
			test.change(c)
			plan := c.reconcile()
			installtest.Same(t, "steps", test.wantSteps, stepsOf(plan))
			installtest.Same(t, "webhooks", []string{webhook + " Waiting " + test.want}, webhooksOf(plan))
			if test.wantRequeue != 0 && !plan.Requeue.At.Equal(c.now.Add(test.wantRequeue)) {
				t.Errorf("the requeue is at %s, want %s later than now", plan.Requeue.At, test.wantRequeue)
			}
		})
	}
}

// A targetPort name is checked only after there are pods.
func TestTargetPortWithoutContainerPort(t *testing.T) {
	for name, test := range map[string]struct {
		pods []*corev1.Pod
		want string
	}{
		"no pods yet": {nil, "v.manager.example.com Waiting NoReadyEndpoints: service manager-service has no ready endpoint"},
		"with pods": {[]*corev1.Pod{{}}, `v.manager.example.com Waiting NoSuchPort: no container names a port "https", which is the targetPort of service manager-service: ` +
			`correct targetPort in spec.webhookdefinitions, or name the port of the container`},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWith(t, webhookOf("manager", onTarget("https")))
			c.reconcile()
			c.becomeAvailable("manager")
			c.Observed.Slices["manager-service"][0].Ports = nil
			c.Observed.Pods["manager"] = test.pods
			installtest.Same(t, "webhooks", []string{test.want}, webhooksOf(c.reconcile()))
		})
	}
}

// Every ready endpoint and the cluster IP of the Service are dialled once, with the server name that API servers use.
func TestEndpointsToDial(t *testing.T) {
	endpoint := func(address, what string) backends.Endpoint {
		return backends.Endpoint{Address: address, ServerName: "manager-service.shop.svc", What: what, Deployment: "manager", Service: "manager-service", Port: 443, Virtual: strings.HasPrefix(what, "service")}
	}
	for name, test := range map[string]struct {
		change func(*cluster)
		want   []backends.Endpoint
	}{
		"two pods": {
			func(c *cluster) { c.serve("manager", "10.244.0.6", "10.244.0.5") },
			[]backends.Endpoint{endpoint("10.244.0.5:443", "pod shop/manager-1"), endpoint("10.244.0.6:443", "pod shop/manager-0"), endpoint("10.96.0.10:443", "service shop/manager-service")},
		},
		"an endpoint that is no pod": {
			func(c *cluster) { c.Observed.Slices["manager-service"][0].Endpoints[0].TargetRef = nil },
			[]backends.Endpoint{endpoint("10.244.0.5:443", "endpoint 10.244.0.5"), endpoint("10.96.0.10:443", "service shop/manager-service")},
		},
		"IPv6": {
			func(c *cluster) {
				service := c.Observed.Services["manager-service"]
				service.Spec.ClusterIP, service.Spec.IPFamilies = "fd96::10", []corev1.IPFamily{corev1.IPv6Protocol}
				c.serve("manager", "fd00::5")
			},
			[]backends.Endpoint{endpoint("[fd00::5]:443", "pod shop/manager-0"), endpoint("[fd96::10]:443", "service shop/manager-service")},
		},
		"a dual-stack Service: API servers call the first family": {
			func(c *cluster) {
				service, first := c.Observed.Services["manager-service"], c.Observed.Slices["manager-service"][0]
				service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
				second := first.DeepCopy()
				second.AddressType, second.Endpoints[0].Addresses = discoveryv1.AddressTypeIPv6, []string{"fd00::5"}
				c.Observed.Slices["manager-service"] = append(c.Observed.Slices["manager-service"], second)
			},
			[]backends.Endpoint{endpoint("10.244.0.5:443", "pod shop/manager-0"), endpoint("10.96.0.10:443", "service shop/manager-service")},
		},
		"a dual-stack Service whose first family is IPv6": {
			func(c *cluster) {
				service, second := c.Observed.Services["manager-service"], c.Observed.Slices["manager-service"][0]
				service.Spec.ClusterIP, service.Spec.IPFamilies = "fd96::10", []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
				first := second.DeepCopy()
				first.AddressType, first.Endpoints[0].Addresses = discoveryv1.AddressTypeIPv6, []string{"fd00::5"}
				c.Observed.Slices["manager-service"] = append(c.Observed.Slices["manager-service"], first)
			},
			[]backends.Endpoint{endpoint("[fd00::5]:443", "pod shop/manager-0"), endpoint("[fd96::10]:443", "service shop/manager-service")},
		},
		"two webhooks on one port": {
			func(c *cluster) {
				c.CSV.Spec.WebhookDefinitions = append(c.CSV.Spec.WebhookDefinitions, webhookOf("manager", mutatingNamed("m.manager.example.com")))
			},
			[]backends.Endpoint{endpoint("10.244.0.5:443", "pod shop/manager-0"), endpoint("10.96.0.10:443", "service shop/manager-service")},
		},
		"none, gate Available": {func(c *cluster) { c.Policy.Gate = GateAvailable }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := unregistered(t)
			test.change(c)
			plan := c.next()
			var got []backends.Endpoint
			for _, e := range plan.Probes {
				e.Review = reviews.Request{} // see TestReviewsToSend
				got = append(got, e)
			}
			installtest.Same(t, "endpoints to dial", test.want, got)
			if test.want != nil && plan.Status.Deployments[0].Webhooks[0].Reason != "Probing" {
				t.Errorf("the reason is %s", plan.Status.Deployments[0].Webhooks[0].Reason)
			}
		})
	}
}

// API servers do not call the pods of a Service without a cluster IP.
func TestServiceNotCallable(t *testing.T) {
	const remedy = ". Delete it, and the manager creates it with a cluster IP: kubectl -n shop delete service manager-service"
	for name, test := range map[string]struct {
		change func(*corev1.Service)
		want   string
	}{
		"headless": {
			func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone },
			"ServiceNotCallable: service manager-service is headless: API servers call the cluster IP of a Service, unless they run with --enable-aggregator-routing" + remedy,
		},
		"an external name": {
			func(s *corev1.Service) {
				s.Spec.Type, s.Spec.ExternalName, s.Spec.ClusterIP = corev1.ServiceTypeExternalName, "hook.example.com", ""
			},
			"ServiceNotCallable: service manager-service is of type ExternalName: API servers call hook.example.com, not the pods" + remedy,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := unregistered(t)
			test.change(c.Observed.Services["manager-service"])
			installtest.Same(t, "before it is registered", []string{"v.manager.example.com Waiting " + test.want}, webhooksOf(c.next()))
			c = installed(t, webhookOf("manager"))
			test.change(c.Observed.Services["manager-service"])
			installtest.Same(t, "when it is registered", []string{"v.manager.example.com Unreachable " + test.want}, webhooksOf(c.next()))
		})
	}
}

// Only some API servers call a Service whose traffic stays on the node.
func TestNodeLocalService(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	service := c.Observed.Services["manager-service"]
	service.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
	installtest.Same(t, "on the node", []string{"v.manager.example.com Registered NodeLocalService: " + nodeLocal(service)}, webhooksOf(c.next()))
	service.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyCluster)
	installtest.Same(t, "in the cluster", []string{"v.manager.example.com Registered Serving: "}, webhooksOf(c.next()))
}

// A webhook with its own port is dialled there, on pods and on the Service.
func TestEndpointsOfASecondPort(t *testing.T) {
	c := clusterWith(t, webhookOf("manager", onTarget("9443")), webhookOf("manager", onTarget("9444"), mutatingNamed("m.manager.example.com")))
	c.reconcile()
	c.becomeAvailable("manager")
	got := lists.Map(c.next().Probes, func(e backends.Endpoint) string { return e.Address })
	installtest.Same(t, fmt.Sprintf("addresses to dial of %s", names.Service("manager")), []string{"10.244.0.5:9443", "10.96.0.10:443", "10.244.0.5:9444", "10.96.0.10:444"}, got)
}

// A webhook that only API servers can reach has this reason as long as it is registered.
func TestProbedThroughAPIServer(t *testing.T) {
	c := unregistered(t)
	c.answer = func(backends.Endpoint) backends.Answer { return backends.Answer{ThroughAPIServer: true} }
	installtest.Same(t, "while it is registered", []string{"v.manager.example.com Waiting ProvedThroughAPIServer: the registration is being written: " + undialledMessage}, webhooksOf(c.reconcile()))
	for range 3 {
		installtest.Same(t, "afterwards", []string{"v.manager.example.com Registered ProvedThroughAPIServer: " + undialledMessage}, webhooksOf(c.reconcile()))
	}
}
