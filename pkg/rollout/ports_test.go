package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// servedAt returns probe results that succeed only at some addresses and ports.
func servedAt(served ...string) func(backends.Endpoint) backends.Answer {
	return func(e backends.Endpoint) backends.Answer {
		for _, s := range served {
			if strings.HasSuffix(e.Address, s) {
				return backends.Answer{}
			}
		}
		return backends.Answer{Reason: "Refused", Message: e.Address + " refuses"}
	}
}

// reconcileAndServe reconciles, and updates the endpoints.
func (c *cluster) reconcileAndServe(deployment string) Plan {
	c.t.Helper()
	plan := c.reconcile()
	c.becomeAvailable(deployment)
	c.serve(deployment, "10.244.0.5")
	return plan
}

// routes returns the port that a validating webhook calls, and the target ports of its Service.
func (c *cluster) routes() string {
	return fmt.Sprintf("%d of %s", registration.PortCalled(c.validating("manager")), portsOf(c.Observed.Services["manager-service"]))
}

func portsOf(service *corev1.Service) string {
	ports := lists.Map(service.Spec.Ports, func(p corev1.ServicePort) string { return fmt.Sprintf("%d->%s", p.Port, p.TargetPort.String()) })
	return strings.Join(ports, " ")
}

func onContainerPort(port int32) func(*operatorsv1alpha1.WebhookDescription) {
	return func(d *operatorsv1alpha1.WebhookDescription) { d.ContainerPort = port }
}

// Edited ports of a registered webhook are used when the new port is served. Until then the previous port is called.
func TestEditedPorts(t *testing.T) {
	const kept = "443 of 443->443"
	for name, test := range map[string]struct {
		edit    func(*operatorsv1alpha1.WebhookDescription)
		change  func(*cluster)
		served  []string
		want    string
		message string
	}{
		"a targetPort that is served":     {edit: onTarget("9999"), served: []string{":443", ":9999"}, want: "443 of 443->9999"},
		"a targetPort that is not served": {edit: onTarget("9999"), served: []string{":443"}, want: kept, message: "port 443 of the pods is called until 9999 is served: 10.244.0.5:9999 refuses"},
		"a targetPort that one of two pods serves": {
			edit: onTarget("9999"), change: func(c *cluster) { c.serve("manager", "10.244.0.5", "10.244.0.6") },
			served: []string{":443", "0.5:9999"}, want: kept, message: "port 443 of the pods is called until 9999 is served: 10.244.0.6:9999 refuses",
		},
		"no endpoint": {
			edit: onTarget("9999"), change: func(c *cluster) { c.serve("manager") },
			want: kept, message: "service manager-service has no ready endpoint",
		},
		"a name that no container has": {edit: onTarget("web"), served: []string{":443"}, want: kept, message: `port 443 of the pods is called until web is served: no container of pod shop/manager-0 names a port "web"`},
		"a name that a container has": {
			edit: onTarget("web"), change: func(c *cluster) {
				c.Observed.Pods["manager"] = []*corev1.Pod{{
					ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager-0"},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "web", ContainerPort: 7443}}}}},
				}}
			},
			served: []string{":443", ":7443"}, want: "443 of 443->web",
		},
		"a containerPort that is not served": {
			edit: onContainerPort(8443), served: []string{":443"}, want: "443 of 443->443 8443->8443",
			message: "port 443 is called until 8443 is served: 10.244.0.5:8443 refuses",
		},
		"a containerPort and a path that are not served": {
			edit: func(d *operatorsv1alpha1.WebhookDescription) { onContainerPort(8443)(d); atPath("/v2")(d) }, served: []string{":443"}, want: "443 of 443->443 8443->8443",
			message: `path "/" at port 443 is called until "/v2" at port 8443 is served: 10.244.0.5:8443 refuses`,
		},
		"gate Available": {edit: onTarget("9999"), change: func(c *cluster) { c.Policy.Gate = GateAvailable }, want: "443 of 443->9999"},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager", atPath("/")))
			c.CSV.Generation++
			test.edit(&c.CSV.Spec.WebhookDefinitions[0])
			if test.change != nil {
				test.change(c)
			}
			c.answer = servedAt(test.served...)
			var plan Plan
			for range 3 {
				plan = c.reconcile()
				slice := c.Observed.Slices["manager-service"][0]
				addresses := []string{}
				for _, e := range slice.Endpoints {
					addresses = append(addresses, e.Addresses...)
				}
				c.serve("manager", addresses...)
				c.wait(2 * time.Second)
			}
			installtest.Same(t, "the port that is called, and where ports lead", test.want, c.routes())
			if got := strings.Join(webhooksOf(plan), "\n"); !strings.Contains(got, test.message) || test.message == "" && strings.Contains(got, "until") {
				t.Errorf("the webhook is %s, want %s", got, test.message)
			}
			installtest.Same(t, "each reconciliation writes", []string(nil), stepsOf(plan))
		})
	}
}

// The pods are dialled at the previous targetPort, too. A dropped packet at the new port then
// differs from a network in which the manager reaches no pod.
func TestPreviousTargetPortIsProbed(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	onTarget("9999")(&c.CSV.Spec.WebhookDefinitions[0])
	installtest.Same(t, "addresses to dial", []string{"10.244.0.5:443", "10.244.0.5:9999/"}, pathsToProbe(c.next()))
}

// The Service keeps the previous port until every API server has observed the new one.
func TestPreviousPortSettles(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	c.Policy.Settle = time.Minute
	onContainerPort(8443)(&c.CSV.Spec.WebhookDefinitions[0])
	c.answer = servedAt(":443", ":8443")
	var got []string
	for range 6 {
		c.reconcileAndServe("manager")
		got = append(got, c.routes())
		c.wait(25 * time.Second)
	}
	installtest.Same(t, "the port that is called, and where ports lead", []string{
		"443 of 443->443 8443->8443", // the port is added
		"8443 of 443->443 8443->8443",
		"8443 of 443->443 8443->8443", // the time is recorded
		"8443 of 443->443 8443->8443",
		"8443 of 443->443 8443->8443",
		"8443 of 8443->8443",
	}, got)
	installtest.Same(t, "the record of kept ports", "", c.Observed.Services["manager-service"].Annotations[wellknown.AnnotationKeptPorts])
	installtest.Same(t, "each reconciliation writes", []string(nil), stepsOf(c.reconcile()))
}

// Edits of another client are repaired at once, also while an edit of the ClusterServiceVersion waits.
func TestPortsEditedByAnotherClient(t *testing.T) {
	retarget := func(c *cluster) {
		service := c.Observed.Services["manager-service"].DeepCopy()
		service.Spec.Ports[0].TargetPort = intstr.FromInt32(6666)
		targets := `{"f:spec":{"f:ports":{"k:{\"port\":443,\"protocol\":\"TCP\"}":{"f:targetPort":{}}}}}`
		service.SetManagedFields(append(service.GetManagedFields(), wrote("kubectl-edit", targets)))
		c.store(service)
	}
	remove := func(c *cluster) {
		service := c.Observed.Services["manager-service"].DeepCopy()
		service.Spec.Ports = service.Spec.Ports[1:]
		c.store(service)
	}
	for name, test := range map[string]struct {
		edit   func(*operatorsv1alpha1.WebhookDescription)
		client func(*cluster)
		want   string
	}{
		"the Service":                                 {client: retarget, want: "443 of 443->443"},
		"the Service, while a targetPort waits":       {onTarget("9999"), retarget, "443 of 443->443"},
		"the Service, while a containerPort waits":    {onContainerPort(8443), retarget, "443 of 443->443 8443->8443"},
		"it removes the port while the new one waits": {onContainerPort(8443), remove, "443 of 443->443 8443->8443"},
		"the registration":                            {client: func(c *cluster) { c.validating("manager").Webhooks[0].ClientConfig.Service.Port = new(int32(6666)) }, want: "443 of 443->443"},
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			c.answer = servedAt(":443")
			if test.edit != nil {
				test.edit(&c.CSV.Spec.WebhookDefinitions[0])
				c.reconcileAndServe("manager")
				c.reconcileAndServe("manager")
			}
			test.client(c)
			c.reconcileAndServe("manager")
			installtest.Same(t, "the port that is called, and where ports lead", test.want, c.routes())
		})
	}
}

// A webhook that shares its port with another one does not change to the edited port before it is served there.
func TestEditedPortOfOneOfTwoWebhooks(t *testing.T) {
	c := installed(t, webhookOf("manager", named("a.manager.example.com")), webhookOf("manager", named("b.manager.example.com")))
	onTarget("9999")(&c.CSV.Spec.WebhookDefinitions[0])
	c.answer = servedAt(":443", ":444")
	for range 4 {
		c.reconcileAndServe("manager")
		c.wait(time.Second)
	}
	a, b := registration.PortCalled(c.validatingNamed("a.manager.example.com")), registration.PortCalled(c.validatingNamed("b.manager.example.com"))
	got := fmt.Sprintf("%d and %d of %s", a, b, portsOf(c.Observed.Services["manager-service"]))
	installtest.Same(t, "the ports that are called, and where ports lead", "443 and 444 of 443->443 444->443", got)
}

func TestExchangedPorts(t *testing.T) {
	c := installed(t, webhookOf("manager", named("a.manager.example.com"), onTarget("9443")),
		webhookOf("manager", named("b.manager.example.com"), onContainerPort(8443), onTarget("9444")))
	onContainerPort(8443)(&c.CSV.Spec.WebhookDefinitions[0])
	onContainerPort(443)(&c.CSV.Spec.WebhookDefinitions[1])
	for range 4 {
		c.reconcileAndServe("manager")
		c.wait(time.Second)
	}
	installtest.Same(t, "the port that a calls", 8443, registration.PortCalled(c.validatingNamed("a.manager.example.com")))
	installtest.Same(t, "the port that b calls", 443, registration.PortCalled(c.validatingNamed("b.manager.example.com")))
}

// The previous port of an APIService is kept in the same way.
func TestEditedAPIServicePort(t *testing.T) {
	c := clusterWithAPIService(t, "manager").succeed()
	c.CSV.Spec.APIServiceDefinitions.Owned[0].ContainerPort = 8443
	c.answer = servedAt(":443")
	for range 3 {
		c.reconcileAndServe("manager")
	}
	installtest.Same(t, "the port that is called", 443, registration.PortCalled(c.Observed.APIServices[0]))
	installtest.Same(t, "ports of the Service", 2, len(c.Observed.Services["manager-service"].Spec.Ports))
	c.answer = servedAt("3")
	for range 3 {
		c.wait(time.Second)
		c.reconcileAndServe("manager")
	}
	installtest.Same(t, "the port that is called", 8443, registration.PortCalled(c.Observed.APIServices[0]))
	installtest.Same(t, "ports of the Service", 1, len(c.Observed.Services["manager-service"].Spec.Ports))
}

// The previous ports of a conversion are kept in the same way, also if a requirement is not met.
func TestEditedConversionPorts(t *testing.T) {
	route := `{"f:spec":{"f:conversion":{"f:webhook":{"f:clientConfig":{"f:service":{"f:path":{},"f:port":{}}}}}}}`
	for name, test := range map[string]struct {
		edit   func(*operatorsv1alpha1.WebhookDescription)
		change func(*cluster)
		want   string
	}{
		"a containerPort that is served":     {onContainerPort(9443), func(c *cluster) { c.answer = servedAt("443") }, "9443 of 9443->9443"},
		"a containerPort that is not served": {onContainerPort(9443), func(*cluster) {}, "8443 of 8443->8443 9443->9443"},
		"a targetPort that is served":        {onTarget("9443"), func(c *cluster) { c.answer = servedAt("443") }, "8443 of 8443->9443"},
		"a targetPort that is not served":    {onTarget("9443"), func(*cluster) {}, "8443 of 8443->8443"},
		"a targetPort, and a requirement is not met": {onTarget("9443"), func(c *cluster) {
			c.answer = servedAt("443")
			obstacles["a requirement"].put(c)
		}, "8443 of 8443->8443"},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWithConversions(t)
			for _, crd := range c.Observed.CRDs {
				crd.ManagedFields = []metav1.ManagedFieldsEntry{wrote(wellknown.FieldManager, route)}
			}
			c.answer = servedAt(":8443")
			test.edit(&c.CSV.Spec.WebhookDefinitions[0])
			test.change(c)
			for range 5 {
				c.reconcileWithConversions()
				c.serve("converter", "10.244.0.5")
				c.wait(time.Second)
			}
			got := fmt.Sprintf("%d of %s", conversion.RouteOf(c.Observed.CRDs["things.example.com"].Spec.Conversion).Port, portsOf(c.Observed.Services["converter-service"]))
			installtest.Same(t, "the port that is called, and where ports lead", test.want, got)
		})
	}
}

// A webhook is not registered at a port whose target is not updated yet.
func TestNewWebhookOnAKeptPort(t *testing.T) {
	c := installed(t, webhookOf("manager"))
	onTarget("9999")(&c.CSV.Spec.WebhookDefinitions[0])
	c.CSV.Spec.WebhookDefinitions = append(c.CSV.Spec.WebhookDefinitions, webhookOf("manager", mutatingNamed("m.manager.example.com"), onTarget("9999")))
	c.answer = servedAt(":443")
	c.reconcileAndServe("manager")
	c.reconcileAndServe("manager")
	installtest.None(t, "registrations", c.Observed.Mutating)
}

// Certificates are probed at the ports that API servers call: a new port that is not served would block their renewal.
func TestProbedPortsDuringEdit(t *testing.T) {
	for name, edit := range map[string]func(*operatorsv1alpha1.WebhookDescription){
		"a targetPort": onTarget("9999"), "a containerPort": onContainerPort(8443),
	} {
		t.Run(name, func(t *testing.T) {
			c := installed(t, webhookOf("manager"))
			edit(&c.CSV.Spec.WebhookDefinitions[0])
			c.answer = servedAt(":443")
			c.reconcileAndServe("manager")
			live := c.Observed.Services["manager-service"]
			probed := backends.ProbedService(render.CalledService(c.CSV, "manager", "manager-service"), live)
			installtest.Same(t, "the obstacle to samples through the Service", "", backends.SamplingObstacle(live, probed, nil, nil))
			installtest.Same(t, "probed ports", "443->443", portsOf(probed))
		})
	}
}
