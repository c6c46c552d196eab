package conformance

import (
	"net"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// The API server finds the host behind its Service, at the Service's port, and takes its
// certificate for the Service's. The webhook fails closed in the namespace of its own
// Service, since its author wants that: such a wish is not second-guessed.
func TestCallsByService(t *testing.T) {
	namespace := newNamespaceOf(t, "service")
	client, _ := newClient(t)
	address := endpointAddress(t)
	createService(t, client, namespace, address)

	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("judge", obeying(hosting.Validating[*corev1.ConfigMap], namespace))
	h := execute(t, b, newAddress(), []string{
		"--bind-address=" + address.IP.String(), "--secure-port=" + strconv.Itoa(address.Port),
		"--cert-dir=" + t.TempDir(), "--self-signed-certificate", "--drain-period=100ms",
		"--register-webhooks", "--webhook-service=" + namespace + "/hooks:8443",
	})
	h.waitUntilReady(t)
	waitUntilCalled(t, client, namespace)
	if _, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), doing("allow"), metav1.CreateOptions{}); err != nil {
		t.Errorf("what the webhook allows is not created: %v", err)
	}
}

// endpointAddress is one that an endpoint may have: a loopback address may not.
func endpointAddress(t *testing.T) *net.TCPAddr {
	t.Helper()
	address, err := kube.Outside()
	if err != nil {
		t.Fatal(err)
	}
	return kube.Reserve(t, address)
}

// createService makes the Service hooks:8443, and plays the controller that finds what is
// behind it.
func createService(t *testing.T, client kubernetes.Interface, namespace string, address *net.TCPAddr) {
	t.Helper()
	const name, port = "hooks", "webhooks"
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: port, Port: 8443}}},
	}
	if _, err := client.CoreV1().Services(namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address.IP.String()}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To(port), Port: ptr.To(int32(address.Port))}},
	}
	if _, err := client.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
