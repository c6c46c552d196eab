package corpus

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// readRefusal reads the recorded answer, line by line, when a ClusterServiceVersion did not get
// into the API server; nothing, of one that did.
func readRefusal(t *testing.T, dir string) []string {
	t.Helper()
	var status struct {
		RejectedByAPIServer []string `json:"rejectedByAPIServer"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "status.yaml"))
	must(t, err)
	must(t, yaml.Unmarshal(text, &status))
	return status.RejectedByAPIServer
}

// isRefused tries to make the ClusterServiceVersion, which the API server has to refuse in
// the same words, so that there is nothing for any manager. docs/admin/compatibility.md names it.
func (e *env) isRefused(t *testing.T, namespace string, b bundle, want []string) {
	t.Helper()
	kube.Create(t, e.Kube.CoreV1().Namespaces(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	said := e.refusal(t, namespace, b)
	if said == "" {
		t.Fatalf("the API server accepts it, want a refusal with %q", want)
	}
	if text := strings.Join(want, "\n"); !strings.Contains(text, said) {
		t.Errorf("the API server reports\n%s\nwant\n%s", said, text)
	}
	if page, err := os.ReadFile("../../docs/admin/compatibility.md"); err != nil || !strings.Contains(string(page), "`"+b.csv.Name+"`") {
		t.Errorf("docs/admin/compatibility.md does not name %s (%v)", b.csv.Name, err)
	}
}

// refusal is what the API server reports against the ClusterServiceVersion, by its kind or by
// its fields, as kubectl writes it.
func (e *env) refusal(t *testing.T, namespace string, b bundle) string {
	t.Helper()
	served, err := restmapper.GetAPIGroupResources(e.Kube.Discovery())
	must(t, err)
	kind := b.raw.GroupVersionKind()
	mapping, err := restmapper.NewDiscoveryRESTMapper(served).RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err.Error()
	}
	csv := b.raw.DeepCopy()
	csv.SetNamespace(namespace)
	_, err = e.dynamic.Resource(mapping.Resource).Namespace(namespace).Create(t.Context(), csv, metav1.CreateOptions{})
	if err == nil {
		return ""
	}
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) {
		t.Fatal(err)
	}
	details := status.Status().Details
	lines := []string{"The " + details.Kind + ` "` + details.Name + `" is invalid: `}
	for _, cause := range details.Causes {
		lines = append(lines, "* "+cause.Field+": "+cause.Message)
	}
	return strings.Join(lines, "\n")
}
