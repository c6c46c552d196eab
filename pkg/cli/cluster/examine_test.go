package cluster

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	extensionsfake "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/fake"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	aggregatorfake "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset/fake"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// If an endpoint accepts the connection without an answer until the interruption, what was not asked is no result.
func TestExamineIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	silent := installtest.OrPanic(net.Listen("tcp", "127.0.0.1:0"))
	t.Cleanup(func() { _ = silent.Close() })
	go func() {
		connection, err := silent.Accept()
		if err == nil {
			t.Cleanup(func() { _ = connection.Close() })
		}
		interrupt()
	}()
	_, err := serving(t, int32(silent.Addr().(*net.TCPAddr).Port)).Examine(ctx, true)
	installtest.ErrorIs(t, context.Canceled, err)
}

// serving has one webhook, whose endpoint is on this machine.
func serving(t *testing.T, port int32) *Cluster {
	t.Helper()
	olm := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersionList", "metadata": map[string]any{}, "items": []any{}})
	}))
	t.Cleanup(olm.Close)
	config := &rest.Config{Host: olm.URL}
	client := installtest.OrPanic(olmclient.New(config))
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "hook"}
	slice := meta
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: meta.Name}
	kube := fake.NewClientset(
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "v"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "v.shop.io", ClientConfig: admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: meta.Namespace, Name: meta.Name}},
			}},
		},
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{ClusterIP: "10.0.0.1", Ports: []corev1.ServicePort{{Port: 443, Protocol: corev1.ProtocolTCP}}}},
		&discoveryv1.EndpointSlice{
			ObjectMeta: slice, AddressType: discoveryv1.AddressTypeIPv4,
			Ports:     []discoveryv1.EndpointPort{{Name: new(""), Port: &port, Protocol: new(corev1.ProtocolTCP)}},
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"127.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
		},
	)
	objects := metadatafake.NewTestScheme()
	installtest.Must(t, metav1.AddMetaToScheme(objects))
	return &Cluster{Config: config, Kube: kube, OLM: client, Extensions: extensionsfake.NewClientset(), Aggregator: aggregatorfake.NewClientset(), Metadata: metadatafake.NewSimpleMetadataClient(objects)}
}
