package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func TestMetricsAccess(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	pod := e.managerPods()[0].Name
	for token, want := range map[string]int{"": http.StatusUnauthorized, "forged": http.StatusUnauthorized, token(e, "stranger"): http.StatusForbidden, scraperToken(e): http.StatusOK} {
		if code, body := scrape(e, pod, token); code != want {
			t.Errorf("a scrape is answered with %d, want %d: %.200s", code, want, body)
		}
	}
}

// metrics is what a pod of the manager reports to Prometheus.
func metrics(e *env, pod string) string {
	e.Helper()
	code, body := scrape(e, pod, scraperToken(e))
	if code != http.StatusOK {
		e.Fatalf("a scrape is answered with %d: %s", code, body)
	}
	return body
}

func scraperToken(e *env) string {
	e.Helper()
	if e.scraper != "" {
		return e.scraper
	}
	e.scraper = token(e, "scraper")
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace + "-scraper"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "olm-webhook-manager-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: "scraper"}},
	}
	kube.CreateTemporary(e, kubeClient.RbacV1().ClusterRoleBindings(), binding)
	return e.scraper
}

func token(e *env, account string) string {
	e.Helper()
	accounts := kubeClient.CoreV1().ServiceAccounts(e.namespace)
	kube.Create(e, accounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}})
	request, err := accounts.CreateToken(e.ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	e.must(err)
	return request.Status.Token
}

// scrape reaches a pod by way of its kubelet: no NetworkPolicy blocks it.
func scrape(e *env, pod, token string) (code int, body string) {
	e.Helper()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	e.must(err)
	url := kubeClient.CoreV1().RESTClient().Post().Namespace(managerNamespace).Resource("pods").Name(pod).SubResource("portforward").URL()
	stop, ready := make(chan struct{}), make(chan struct{})
	var errors bytes.Buffer
	forwarder, err := portforward.New(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url), []string{"0:8443"}, stop, ready, io.Discard, &errors)
	e.must(err)
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	defer func() {
		close(stop)
		if err := <-ended; err != nil {
			e.Logf("port-forward to pod %s: %v", pod, err)
		}
	}()
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		e.Fatalf("port-forward to pod %s: %v", pod, err)
	}
	ports, err := forwarder.GetPorts()
	e.must(err)
	request, err := http.NewRequestWithContext(e.ctx, http.MethodGet, fmt.Sprintf("https://localhost:%d/metrics", ports[0].Local), nil)
	e.must(err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := client.Do(request)
	e.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	e.must(err)
	return response.StatusCode, string(text)
}

// metricName finds the metrics in alert rules and dashboards; suffixes that a histogram
// adds are part of what is exposed.
var metricName = regexp.MustCompile(`\b(olm_webhook_manager|workqueue|leader_election|rest_client|process)_[a-z0-9_]+`)

// Every metric that an alert or a panel asks for is one that the manager exposes.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	csv := hookCSV("hook.v1", server("hook"))
	csv.Annotations = map[string]string{wellknown.AnnotationFailOpenAfter: "30s", wellknown.AnnotationFailOpenFor: "10m"} // these webhooks have metrics of their own
	e.create(csv)
	e.succeeds(csv.Name)
	asked := map[string]string{} // the file, by metric
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		content, err := os.ReadFile("../../manifests/monitoring/" + file)
		e.must(err)
		for _, name := range metricName.FindAllString(string(content), -1) {
			asked[name] = file
		}
	}
	if len(asked) == 0 {
		t.Fatal("no alert or panel asks for a metric")
	}
	// It exists while calls from one API server fail, and those from others do not: TestUnreachableFromAPIServer (pkg/controller/metrics).
	delete(asked, "olm_webhook_manager_webhook_unreachable_from_api_server")
	err := wait.PollUntilContextTimeout(e.ctx, time.Second, time.Minute, true, func(ctx context.Context) (bool, error) {
		e.call(ctx, true) // The manager reads every 15 seconds which calls API servers made.
		for name := range exposed(e) {
			delete(asked, name)
		}
		return len(asked) == 0, nil
	})
	if err != nil {
		t.Errorf("the manager does not expose what these files ask for: %v", asked)
	}
}

// exposed are the names of the metrics of the leader.
func exposed(e *env) map[string]bool {
	e.Helper()
	names := map[string]bool{}
	for line := range strings.Lines(metrics(e, e.leader())) {
		if name, _, found := strings.Cut(strings.ReplaceAll(line, " ", "{"), "{"); found && !strings.HasPrefix(line, "#") {
			names[name] = true
		}
	}
	return names
}
