package storage

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/storage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// discoveryServer is an API server that answers discovery of v2. It records the connections.
type discoveryServer struct {
	*httptest.Server
	mutex       sync.Mutex
	connections map[string]bool
}

func newDiscoveryServer(t *testing.T) *discoveryServer {
	s := &discoveryServer{connections: map[string]bool{}}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		s.connections[r.RemoteAddr] = true
		s.mutex.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(metav1.APIResourceList{APIResources: []metav1.APIResource{{Name: "things", StorageVersionHash: "hash"}}})
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func (s *discoveryServer) config() *rest.Config {
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

func things() *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Names.Plural = "example.com", "things"
	return crd
}

// No address of an API server is known: one answer does not count for all of them.
func TestHashesWithoutAddresses(t *testing.T) {
	server := newDiscoveryServer(t)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
		Endpoints:  []discoveryv1.Endpoint{{}},
		Ports:      []discoveryv1.EndpointPort{{Port: new(int32(6443))}, {}},
	}
	for name, kube := range map[string]*fake.Clientset{"no EndpointSlice": fake.NewClientset(), "no address in it": fake.NewClientset(slice)} {
		t.Run(name, func(t *testing.T) {
			servers := apiServers{config: server.config(), kube: kube}
			_, err := servers.Hashes(t.Context(), things(), "v2")
			installtest.ErrorIs(t, storage.ErrNoAddresses, err)
			servers.addresses = []string{strings.TrimPrefix(server.URL, "https://")}
			installtest.Same(t, "hashes with --api-servers", 2, len(installtest.OrPanic(servers.Hashes(t.Context(), things(), "v2"))))
		})
	}
}

// Fewer API servers are named than the Service kubernetes has: the others are not left out.
func TestEveryAPIServerIsNamed(t *testing.T) {
	server := newDiscoveryServer(t)
	kube := fake.NewClientset(&discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}, {Addresses: []string{"10.0.0.2"}}},
		Ports:      []discoveryv1.EndpointPort{{Port: new(int32(6443))}},
	})
	address := strings.TrimPrefix(server.URL, "https://")
	servers := apiServers{config: server.config(), kube: kube, addresses: []string{address}}
	_, err := servers.Hashes(t.Context(), things(), "v2")
	installtest.Error(t, "names 1 API servers, and the Service kubernetes has 2 (10.0.0.1:6443, 10.0.0.2:6443)", err)
	servers.addresses = []string{address, server.URL}
	if _, err := servers.Hashes(t.Context(), things(), "v2"); err == nil {
		t.Error("an API server that is named twice counts twice")
	}
	servers.addresses = []string{address, strings.TrimPrefix(newDiscoveryServer(t).URL, "https://")}
	installtest.Same(t, "hashes with every address", 3, len(installtest.OrPanic(servers.Hashes(t.Context(), things(), "v2"))))
}

// A load balancer may send each connection to another API server.
func TestEachQuestionHasItsConnection(t *testing.T) {
	server := newDiscoveryServer(t)
	servers := apiServers{config: server.config(), kube: fake.NewClientset(), addresses: []string{server.URL}}
	for range 5 {
		_, err := servers.Hashes(t.Context(), things(), "v2")
		installtest.Must(t, err)
	}
	installtest.Same(t, "the number of connections for 10 questions", 10, len(server.connections))
}

// A newer API server has fields that this program does not know.
func TestStoreChangesTheStorageVersionAlone(t *testing.T) {
	var method, contentType, body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		method, contentType, body = r.Method, r.Header.Get("Content-Type"), string(text)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"}`))
	}))
	t.Cleanup(server.Close)
	connected := installtest.OrPanic(cluster.New(&rest.Config{Host: server.URL}))
	c := newStorageCluster(connected, "things.example.com", nil)
	crd := things()
	crd.Name, crd.ResourceVersion = "things.example.com", "7"
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Storage: true}, {Name: "v2"}}
	installtest.Must(t, c.Store(t.Context(), crd, "v2"))
	const read = `PATCH application/json-patch+json [{"op":"replace","path":"/metadata/resourceVersion","value":"7"},`
	const stored = `{"op":"replace","path":"/spec/versions/0/storage","value":false},{"op":"replace","path":"/spec/versions/1/storage","value":true}]`
	installtest.Same(t, "the request that changes the storage version", read+stored, method+" "+contentType+" "+body)
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.StorageMigrating}}
	installtest.Must(t, c.Trim(t.Context(), crd, "v2"))
	const trimmed = `{"op":"add","path":"/status/storedVersions","value":["v2"]},{"op":"remove","path":"/status/conditions/0"}]`
	installtest.Same(t, "the request that ends the migration", read+trimmed, method+" "+contentType+" "+body)
}
