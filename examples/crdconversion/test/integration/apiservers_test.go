package integration

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/storage"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// The Service kubernetes has two more API servers: one cannot be reached, and the other still stores objects in the
// previous version. The command rewrites nothing until both store the new version.
func TestMigrateAsksEveryAPIServer(t *testing.T) {
	e := newConvertedEnv(t)
	e.Fill(t, few)
	flags := []string{e.asAdministrator()}
	second := e.startAPIServer()
	e.endpoint("kubernetes-second", second.address())
	flags = append(flags, "--kubeconfig="+e.trusting(second))

	closed := kube.Reserve(t, e.outside())
	remove := e.endpoint("kubernetes-third", closed)
	command := e.startMigrate(flags...)
	second.isAskedAgain(3)
	e.must(command.Process.Signal(syscall.SIGTERM))
	output := command.end(false)
	if !strings.Contains(output, "not every API server stores the objects of "+crdName+" in v1: API server https://"+closed.String()+": ") ||
		!strings.HasSuffix(output, "connection refused: nothing was rewritten. Run the command where each of them can be reached by its own address, such as in a pod\n") {
		t.Errorf("one API server cannot be reached, and the command prints:\n%s", output)
	}
	e.nothingIsRewritten()
	remove()

	second.behind.Store(true)
	command = e.startMigrate(flags...)
	second.isAskedAgain(15)
	e.nothingIsRewritten()
	second.behind.Store(false)
	command.end(true)
	e.isMigrated(few)
}

func (e *env) nothingIsRewritten() {
	e.Helper()
	if stored, versions := e.stored(), e.storedVersions(); stored["v2"] != few || len(stored) != 1 || !slices.Contains(versions, "v2") {
		e.Errorf("stored are %v and status.storedVersions is %v before every API server stores in v1", stored, versions)
	}
}

// apiServer is another address of the API server. While behind is true, it reports v2 as the storage version.
type apiServer struct {
	*env
	*httptest.Server
	certificate []byte
	guard       atomic.Pointer[func(*http.Request) bool] // which requests pass; nil for all
	behind      atomic.Bool
	asked       atomic.Int64
}

// startAPIServer serves until the test ends. Its certificate has the name by which pods call it, not the address.
func (e *env) startAPIServer() *apiServer {
	e.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("kubernetes.default.svc", nil, nil)
	e.must(err)
	pair, err := tls.X509KeyPair(certificate, key)
	e.must(err)
	upstream := rest.AnonymousClientConfig(cluster.Config()) // callers send their own credentials
	target, _, err := rest.DefaultServerUrlFor(upstream)
	e.must(err)
	transport, err := rest.TransportFor(upstream)
	e.must(err)
	s := &apiServer{env: e, certificate: certificate}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:      transport,
		ModifyResponse: s.answer,
	}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if permits := s.guard.Load(); permits != nil && !(*permits)(r) {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	e.must(s.Listener.Close())
	s.Listener, err = net.Listen("tcp4", net.JoinHostPort(e.outside(), "0"))
	e.must(err)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	s.StartTLS()
	e.Cleanup(s.Close)
	return s
}

func (s *apiServer) answer(answer *http.Response) error {
	if answer.Request.URL.Path != "/apis/"+convert.V1.String() {
		return nil
	}
	s.asked.Add(1)
	if !s.behind.Load() {
		return nil
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	body = bytes.ReplaceAll(body, hash("v1"), hash("v2")) // same length
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

func hash(version string) []byte {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Group, crd.Spec.Names.Kind = convert.V1.Group, convert.Kind
	return []byte(storage.Hash(crd, version))
}

func (s *apiServer) isAskedAgain(times int64) {
	s.Helper()
	before := s.asked.Load()
	s.eventually(func() (bool, any) {
		now := s.asked.Load() - before
		return now >= times, now
	})
}

func (s *apiServer) address() net.Addr { return s.Listener.Addr() }

// outside returns an address that an endpoint may have.
func (e *env) outside() string {
	e.Helper()
	address, err := kube.Outside()
	e.must(err)
	return address
}

func (e *env) endpoint(name string, address net.Addr) (remove func()) {
	e.Helper()
	host, text, err := net.SplitHostPort(address.String())
	e.must(err)
	port, err := strconv.ParseInt(text, 10, 32)
	e.must(err)
	endpoints := e.kube.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	_, err = endpoints.Create(e.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{host}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(port))}},
	}, metav1.CreateOptions{})
	e.must(err)
	remove = sync.OnceFunc(func() { e.must(endpoints.Delete(context.Background(), name, metav1.DeleteOptions{})) })
	e.Cleanup(remove)
	return remove
}

func (e *env) trusting(other *apiServer, changes ...func(*clientcmdapi.Cluster)) (path string) {
	e.Helper()
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	e.must(err)
	for _, c := range config.Clusters {
		c.CertificateAuthorityData = slices.Concat(c.CertificateAuthorityData, other.certificate)
		for _, change := range changes {
			change(c)
		}
	}
	path = filepath.Join(e.TempDir(), "kubeconfig")
	e.must(clientcmd.WriteToFile(*config, path))
	return path
}
