package integration

import (
	"crypto/tls"
	"net"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func serving(o *controller.Options) { o.Rollout.Gate = rollout.GateServing }

// A webhook is not registered before every ready endpoint, and the Service's own address, answer with a trusted
// certificate. There is no kube-proxy here: the Service's address never answers.
func TestNoEndpointServes(t *testing.T) {
	for name, test := range map[string]struct {
		serve   func(*env, net.Listener) // nil when there is no endpoint
		reason  string                   // any, when empty
		message string
	}{
		"no endpoint": {
			reason: "NoReadyEndpoints", message: "service server-service has no ready endpoint",
		},
		"no server listens": {
			serve:  func(e *env, l net.Listener) { e.must(l.Close()) },
			reason: "Refused", message: "server-0",
		},
		"not the Service's address": {
			serve:   func(e *env, l net.Listener) { serve(e, l, servingCertificate(e)) },
			message: "/server-service",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			e.manage(serving)
			e.create(csv("operator.v1", "server"))
			if test.serve != nil {
				e.eventually("there is a Deployment to serve", func() (bool, any) { return e.deployment("server") != nil, nil })
				listener := listen(e)
				test.serve(e, listener)
				endpoint(e, listener)
			}
			e.webhookIs("Waiting", test.reason, test.message)
			e.eventually("the ClusterServiceVersion reports it, too", func() (bool, any) {
				s := e.get("operator.v1").Status
				return s.Phase == "Installing" && s.Reason == "InstallWaiting" && strings.Contains(s.Message, test.message), s.Message
			})
			registersNothing(e)
		})
	}
}

// listen is on an address that an endpoint may have.
func listen(e *env) net.Listener {
	e.Helper()
	address := installtest.OrPanic(kube.Outside())
	listener := installtest.OrPanic(net.Listen("tcp4", net.JoinHostPort(address, "0")))
	e.Cleanup(func() { _ = listener.Close() }) // it may be closed already
	return listener
}

// serve plays a webhook's server, as far as a TLS handshake goes.
func serve(_ *env, l net.Listener, certificate tls.Certificate) {
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = tls.Server(conn, &tls.Config{Certificates: []tls.Certificate{certificate}}).Handshake() // the client's concern
			}()
		}
	}()
}

func servingCertificate(e *env) tls.Certificate {
	e.Helper()
	secret := kube.Get(e, e.kube.CoreV1().Secrets(e.namespace), servingSecret)
	return installtest.OrPanic(tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]))
}

// otherCertificate has the right names, and is signed by a CA of another client's.
func otherCertificate(e *env) tls.Certificate {
	e.Helper()
	data := otherSecret(e).Data
	return installtest.OrPanic(tls.X509KeyPair(data[corev1.TLSCertKey], data[corev1.TLSPrivateKeyKey]))
}

func otherSecret(e *env) *corev1.Secret {
	e.Helper()
	own := servingCertificate(e).Leaf
	generation := installtest.OrPanic(certs.Mint(certs.Request{Number: 1, Names: own.DNSNames, NotBefore: own.NotBefore, NotAfter: own.NotAfter}))
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: servingSecret}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: generation.Certificate, corev1.TLSPrivateKeyKey: generation.Key, wellknown.KeyCA: generation.CA},
	}
}

// endpoint plays the controller that finds the pods behind server-service: there is one, and it listens there.
func endpoint(e *env, l net.Listener) {
	e.Helper()
	endpointOf(e, "server-0", l)
}

func endpointOf(e *env, pod string, l net.Listener) {
	e.Helper()
	endpointBehind(e, "server-service", pod, l)
}

func endpointBehind(e *env, name, pod string, l net.Listener) {
	e.Helper()
	service := kube.Get(e, e.kube.CoreV1().Services(e.namespace), name)
	address := l.Addr().(*net.TCPAddr)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service.Name + "-" + pod, Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{address.IP.String()}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: e.namespace, Name: pod},
		}},
		Ports: []discoveryv1.EndpointPort{{Name: &service.Spec.Ports[0].Name, Port: new(int32(address.Port))}},
	}
	for label, value := range service.Labels {
		slice.Labels[label] = value
	}
	kube.Create(e, e.kube.DiscoveryV1().EndpointSlices(e.namespace), slice)
}
