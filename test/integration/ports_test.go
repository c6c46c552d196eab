package integration

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// servicePorts returns the target of each port of server-service, and which one the webhook calls.
func servicePorts(e *env) string {
	e.Helper()
	service := kube.Get(e, e.kube.CoreV1().Services(e.namespace), "server-service")
	ports := lists.Map(service.Spec.Ports, func(p corev1.ServicePort) string { return fmt.Sprintf("%d->%s", p.Port, p.TargetPort.String()) })
	called := e.registration("v.example.com").Webhooks[0].ClientConfig.Service.Port
	return fmt.Sprintf("%d of %s, record %q", *called, strings.Join(ports, " "), service.Annotations[wellknown.AnnotationKeptPorts])
}

// leadTo plays the controller that finds the pod behind each port of server-service.
func leadTo(e *env, l net.Listener) {
	e.Helper()
	service := kube.Get(e, e.kube.CoreV1().Services(e.namespace), "server-service")
	client := e.kube.DiscoveryV1().EndpointSlices(e.namespace)
	slice := kube.Get(e, client, "server-service-server-0")
	slice.Ports = nil
	for _, p := range service.Spec.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: new(int32(l.Addr().(*net.TCPAddr).Port)), Protocol: new(corev1.ProtocolTCP)})
	}
	kube.Update(e, client, slice)
}

// Ports of a live webhook that an edit names are called when they are served. The previous ones stay
// until then, and what another client edits is repaired.
func TestEditedPorts(t *testing.T) {
	e := newOperatorEnv(t)
	listener := listen(e)
	var broken atomic.Bool
	e.manage(routed(listener), func(o *controller.Options) { o.Rollout.Settle = 200 * time.Millisecond })
	c := csv("operator.v1", "server")
	onPodTemplates(c)
	e.create(c)
	e.eventually("there is a certificate to serve", func() (bool, any) { return e.deployment("server") != nil, nil })
	answer(e, listener, servingCertificate(e), func(w http.ResponseWriter, r *http.Request) {
		if broken.Load() {
			http.NotFound(w, r)
			return
		}
		permitAtValidate(w, r)
	})
	endpoint(e, listener)
	e.succeeds("operator.v1")
	broken.Store(true)

	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions[0].TargetPort = new(intstr.FromInt32(9999))
	})
	e.webhookIs("Registered", "", "port 443 of the pods is called until 9999 is served: ")
	const held = `443 of 443->443, record "{\"kept\":[{\"port\":443,\"targetPort\":443}]}"`
	e.eventually("the previous one is called", func() (bool, any) { got := servicePorts(e); return got == held, got })
	service := kube.Get(e, e.kube.CoreV1().Services(e.namespace), "server-service")
	service.Spec.Ports[0].TargetPort = intstr.FromInt32(6666)
	_, err := e.kube.CoreV1().Services(e.namespace).Update(e.ctx, service, metav1.UpdateOptions{FieldManager: "kubectl-edit"})
	e.must(err)
	e.eventually("what another client edits is repaired", func() (bool, any) { got := servicePorts(e); return got == held, got })

	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions[0].TargetPort = new(intstr.FromInt32(443))
		c.Spec.WebhookDefinitions[0].ContainerPort = 8443
	})
	e.eventually("the Service has both ports", func() (bool, any) {
		got := servicePorts(e)
		return strings.HasPrefix(got, "443 of 443->443 8443->443, ") && strings.Contains(got, `"pending\":[8443]`), got
	})
	leadTo(e, listener)
	e.webhookIs("Registered", "PathNotServed", "port 443 is called until 8443 is served: ")
	broken.Store(false)
	becomes(e, "the new port is called, and the previous one is removed", func() string { return servicePorts(e) }, `8443 of 8443->443, record ""`)
	e.webhookIs("Registered", "Serving")
}
