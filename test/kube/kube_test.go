package kube

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var cluster *Cluster

func TestMain(m *testing.M) { Main(m, &cluster) }

func TestAddressOf(t *testing.T) {
	for pid, want := range map[int]string{
		1:         "127.64.0.1",
		0x1234:    "127.64.18.52",
		1<<22 - 1: "127.127.255.255",
	} {
		if got := addressOf(pid); got != netip.MustParseAddr(want) {
			t.Errorf("addressOf(%d) = %s, want %s", pid, got, want)
		}
	}
}

func TestRoleBasedAccessControl(t *testing.T) {
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	_, err := newClient(t, config).CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if !apierrors.IsForbidden(err) {
		t.Errorf("a user without a role lists namespaces: %v, want it forbidden", err)
	}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"},
	}}
	review, err = newClient(t, cluster.Config()).AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || !review.Status.Allowed {
		t.Errorf("the configuration's user may not do everything: %v, %v", review.Status, err)
	}
}

func TestAuditLogCountsWrites(t *testing.T) {
	if !cluster.Audit.Available() {
		t.Skip("the audit log of the cluster that KUBECONFIG names cannot be read")
	}
	config := cluster.Config()
	config.UserAgent = "auditor-under-test"
	client := newClient(t, config)
	place, err := cluster.Audit.End()
	if err != nil {
		t.Fatal(err)
	}
	name := createConfigMap(t, client)
	if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), name, metav1.GetOptions{}); err != nil {
		t.Fatal(err)
	}
	event := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: "bookkeeping-", Namespace: "default"},
		InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Name: name, Namespace: "default"},
	}
	if _, err := client.CoreV1().Events("default").Create(t.Context(), event, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}

	var got []string
	eventually(t, "the requests are in the audit log", func() bool {
		events, err := cluster.Audit.Since(place)
		if err != nil {
			t.Fatal(err)
		}
		got = nil
		seen := 0
		for _, e := range events {
			if e.UserAgent == config.UserAgent {
				seen++
			}
		}
		for _, w := range Writes(events, config.UserAgent) {
			got = append(got, w.Verb+" "+w.ObjectRef.Resource)
		}
		return seen == 3
	})
	if diff := cmp.Diff([]string{"create configmaps"}, got); diff != "" {
		t.Errorf("the writes differ (-want +got):\n%s", diff)
	}
}

func TestInstallCRDs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crds.yaml")
	if err := os.WriteFile(file, []byte("---\n"+crdOf("gauges")+"---\n"+crdOf("valves")), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteCRDs(t, "gauges", "valves") })
	for range 2 { // the second finds them there
		if err := cluster.InstallCRDs(t.Context(), file); err != nil {
			t.Fatal(err)
		}
	}
	client, err := dynamic.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range []string{"gauges", "valves"} {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "kube.example.com/v1", "kind": strings.ToUpper(resource), "metadata": map[string]any{"generateName": "x-"},
		}}
		gvr := schema.GroupVersionResource{Group: "kube.example.com", Version: "v1", Resource: resource}
		if _, err := client.Resource(gvr).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Errorf("create one of the %s: %v", resource, err)
		}
	}
}

func TestInstallCRDsRefusesOtherKinds(t *testing.T) {
	file := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := cluster.InstallCRDs(t.Context(), file)
	if err == nil || !strings.Contains(err.Error(), "other.yaml: apply ConfigMap x: it is no CustomResourceDefinition") {
		t.Errorf("InstallCRDs = %v, want one that names the file, the object and the fault", err)
	}
}

func TestProxyCountsWrites(t *testing.T) {
	proxy := newProxy(t, nil)
	client := newClient(t, proxy.Config())
	name := createConfigMap(t, client)
	if _, err := client.CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().ConfigMaps("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"POST /api/v1/namespaces/default/configmaps", "DELETE /api/v1/namespaces/default/configmaps/" + name}
	if diff := cmp.Diff(want, proxy.Writes()); diff != "" {
		t.Errorf("the writes differ (-want +got):\n%s", diff)
	}
}

func TestProxyCutsOffWrites(t *testing.T) {
	direct := newClient(t, cluster.Config())
	for name, tc := range map[string]struct {
		verdict   Verdict
		wantError bool
		wantThere bool
	}{
		"pass":        {Pass, false, true},
		"drop before": {DropBefore, true, false},
		"drop after":  {DropAfter, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			var judged []int
			proxy := newProxy(t, func(n int, _ *http.Request) Verdict {
				judged = append(judged, n)
				if n == 2 {
					return tc.verdict
				}
				return Pass
			})
			client := newClient(t, proxy.Config())
			createConfigMap(t, client)
			second := configMap(t)
			_, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), second, metav1.CreateOptions{})
			if (err != nil) != tc.wantError {
				t.Errorf("the client gets %v, want an error: %v", err, tc.wantError)
			}
			if err != nil && !errors.Is(err, io.EOF) {
				t.Errorf("the client gets %v, want a connection that ends", err)
			}
			_, err = direct.CoreV1().ConfigMaps("default").Get(t.Context(), second.Name, metav1.GetOptions{})
			if there := err == nil; there != tc.wantThere {
				t.Errorf("the object is there: %v (%v), want %v", there, err, tc.wantThere)
			}
			if diff := cmp.Diff([]int{1, 2}, judged); diff != "" {
				t.Errorf("the writes are not each judged once (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProxyPassesWatchEventsAtOnce(t *testing.T) {
	proxy := newProxy(t, nil)
	watch, err := newClient(t, proxy.Config()).CoreV1().ConfigMaps("default").Watch(t.Context(), metav1.ListOptions{LabelSelector: "test=watch"})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	object := configMap(t)
	object.Labels = map[string]string{"test": "watch"}
	if _, err := newClient(t, cluster.Config()).CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case event := <-watch.ResultChan():
		if got := event.Object.(*corev1.ConfigMap).Name; got != object.Name {
			t.Errorf("the event is of %s, want %s", got, object.Name)
		}
	case <-time.After(10 * time.Second):
		t.Error("no event comes through the proxy")
	}
}

func newProxy(t *testing.T, judge Judge) *Proxy {
	t.Helper()
	proxy, err := NewProxy(cluster.Config(), judge)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy
}

func newClient(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// configMap returns one that has the test's name and is removed when the test ends.
func configMap(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())) + "-" + time.Now().Format("150405.000000")
	t.Cleanup(func() {
		err := newClient(t, cluster.Config()).CoreV1().ConfigMaps("default").Delete(context.Background(), name, metav1.DeleteOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	})
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func createConfigMap(t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	object := configMap(t)
	if _, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return object.Name
}

func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(10 * time.Second); !so(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("never: %s", what)
		}
	}
}

func deleteCRDs(t *testing.T, plurals ...string) {
	t.Helper()
	client, err := apiextensions.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	for _, plural := range plurals {
		name := plural + ".kube.example.com"
		if err := client.ApiextensionsV1().CustomResourceDefinitions().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}

func crdOf(plural string) string {
	return strings.NewReplacer("PLURAL", plural, "KIND", strings.ToUpper(plural)).Replace(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: PLURAL.kube.example.com
spec:
  group: kube.example.com
  names: {plural: PLURAL, kind: KIND}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`)
}
