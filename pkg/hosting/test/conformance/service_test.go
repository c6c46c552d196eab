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

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// serveBehindService returns the address of a host when the API server calls it through the Service
// hooks:8443. Its webhook has the policy Fail in the namespace of this Service.
func serveBehindService(t *testing.T, client kubernetes.Interface, namespace string) *net.TCPAddr {
	t.Helper()
	ip, err := kube.Outside() // an endpoint has no loopback address
	hostingtest.Must(t, err)
	address := kube.Reserve(t, ip)
	createService(t, client, namespace, address)
	h := execute(t, judgingIn(namespace), newAddress(), []string{
		"--bind-address=" + address.IP.String(), "--secure-port=" + strconv.Itoa(address.Port),
		"--cert-dir=" + t.TempDir(), "--self-signed-certificate", "--drain-period=100ms",
		"--register-webhooks", "--webhook-service=" + namespace + "/hooks:8443",
	})
	h.waitUntilReady(t)
	waitUntilCalled(t, client, namespace)
	return address
}

// createService creates the Service hooks:8443 and its EndpointSlice.
func createService(t *testing.T, client kubernetes.Interface, namespace string, address *net.TCPAddr) {
	t.Helper()
	const name, port = "hooks", "webhooks"
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: port, Port: 8443}}},
	}
	kube.Create(t, client.CoreV1().Services(namespace), service)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address.IP.String()}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To(port), Port: ptr.To(int32(address.Port))}},
	}
	kube.Create(t, client.DiscoveryV1().EndpointSlices(namespace), slice)
}
