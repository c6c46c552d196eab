package cluster

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// metricsServer answers with a status, and counts the requests.
func metricsServer(t *testing.T, status int) (server *httptest.Server, requests *atomic.Int32) {
	t.Helper()
	requests = &atomic.Int32{}
	server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(status)
		_, _ = w.Write([]byte("# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1000\n"))
	}))
	t.Cleanup(server.Close)
	return server, requests
}

// silentAddress accepts connections and never answers, as a firewall in front of API servers.
func silentAddress(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	installtest.Must(t, err)
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// countersAt are those of a cluster whose Service kubernetes lists addresses.
func countersAt(kubeconfig string, addresses ...string) *CallCounters {
	var slices []runtime.Object
	for _, address := range addresses {
		host, port, _ := net.SplitHostPort(address)
		number, _ := strconv.Atoi(port)
		slices = append(slices, &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes" + port, Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{host}}}, Ports: []discoveryv1.EndpointPort{{Port: new(int32(number))}},
		})
	}
	config := &rest.Config{Host: kubeconfig, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	return &CallCounters{Cluster: &Cluster{Config: config, Kube: fake.NewClientset(slices...)}}
}

func addressOf(server *httptest.Server) string { return server.Listener.Addr().String() }

// API servers that do not answer at their own addresses are waited for once, all at the same time. The kubeconfig has the
// address of a load balancer.
func TestCallsBehindALoadBalancer(t *testing.T) {
	balancer, _ := metricsServer(t, http.StatusOK)
	c := countersAt(balancer.URL, silentAddress(t), silentAddress(t), silentAddress(t))
	now := time.Unix(5000, 0)
	for _, limit := range []time.Duration{timeoutOfAddress + 2*time.Second, 2 * time.Second} {
		started := time.Now()
		servers, notChecked, err := c.Read(t.Context(), now)
		installtest.Must(t, err)
		if took := time.Since(started); took > limit {
			t.Errorf("the reading took %s", took)
		}
		installtest.Same(t, "API servers", 1, len(servers))
		for name, calls := range servers {
			installtest.Contains(t, name, balancer.URL+", started at 1970-01-01T")
			installtest.Same(t, "it has the time of the answer", false, calls.Read.IsZero())
		}
		installtest.Same(t, "lines about what was not checked", 4, len(notChecked))
		installtest.Contains(t, strings.Join(notChecked, "\n"), balancer.URL+", the address of the kubeconfig", "no answer in 3s")
		now = now.Add(time.Second)
	}
}

// An API server that did not answer is asked again after the interval. The others are asked each time.
func TestCallsOfAServerThatFails(t *testing.T) {
	balancer, atBalancer := metricsServer(t, http.StatusOK)
	serving, atServing := metricsServer(t, http.StatusOK)
	failing, atFailing := metricsServer(t, http.StatusServiceUnavailable)
	c := countersAt(balancer.URL, addressOf(serving), addressOf(failing))
	for _, after := range []time.Duration{0, time.Second, MeasureInterval + time.Second} {
		servers, notChecked, err := c.Read(t.Context(), time.Unix(5000, 0).Add(after))
		installtest.Must(t, err)
		installtest.Same(t, "API servers", 1, len(servers))
		installtest.Same(t, "lines about what was not checked", 1, len(notChecked))
		installtest.Contains(t, notChecked[0], addressOf(failing))
	}
	installtest.Same(t, "requests to the one that serves", 3, atServing.Load())
	installtest.Same(t, "requests to the one that fails", 2, atFailing.Load())
	installtest.Same(t, "requests to the address of the kubeconfig", 0, atBalancer.Load())
}

// Without any answer, no call is counted.
func TestCallsOfNoServer(t *testing.T) {
	forbidden, requests := metricsServer(t, http.StatusForbidden)
	c := countersAt(forbidden.URL)
	for range 2 {
		servers, notChecked, err := c.Read(t.Context(), time.Unix(5000, 0))
		installtest.Must(t, err)
		installtest.Same(t, "API servers", 0, len(servers))
		installtest.Same(t, "lines about what was not checked", 1, len(notChecked))
	}
	installtest.Same(t, "requests", 1, requests.Load())
}
