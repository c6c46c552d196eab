package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const suggestingCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: suggesting.v1.0.0, annotations: {operatorframework.io/suggested-namespace: suggested-one}}
spec:
  displayName: Shop
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  install: {strategy: deployment, spec: {deployments: []}}
`

func folder(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	for file, text := range files {
		file = filepath.Join(dir, file)
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}

func opened(t *testing.T, files map[string]string) *bundle.Bundle {
	t.Helper()
	b, err := bundle.Open(t.Context(), folder(t, "bundle", files), bundle.Registry{})
	must(t, err)
	return b
}

// suggestingBundle has the finding no-annotation, which is an error: it names no channel.
func suggestingBundle(t *testing.T) string {
	t.Helper()
	return folder(t, "suggesting", map[string]string{
		"manifests/csv.yaml":        suggestingCSV,
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: suggesting}\n",
	})
}

// --dry-run=client finds what bundle validate finds, with the same waivers, and writes nothing.
func TestDryRunOfTheClient(t *testing.T) {
	e := newEnv(t)
	dir := suggestingBundle(t)
	for name, test := range map[string]struct {
		waivers, says string
		fails         bool
	}{
		"no waivers":       {"", "bundle validate finds errors", true},
		"all are waived":   {"waivers: [{code: no-annotation, reason: because}]", "waived: because", false},
		"not to be read":   {"waivers: [", "suggesting.waivers.yaml: ", true},
		"an unused waiver": {"waivers: [{code: no-rules, reason: because}]", "the waiver of no-rules matches no finding", true},
	} {
		t.Run(name, func(t *testing.T) {
			must(t, os.RemoveAll(dir+".waivers.yaml"))
			if test.waivers != "" {
				must(t, os.WriteFile(dir+".waivers.yaml", []byte(test.waivers), 0o600))
			}
			out, err := webhooks(t, "bundle", "install", dir, "--dry-run=client").CombinedOutput()
			if (err != nil) != test.fails || !strings.Contains(string(out), test.says) {
				t.Errorf("%v, and %q is not in\n%s", err, test.says, out)
			}
			_, validErr := webhooks(t, "bundle", "validate", dir).CombinedOutput()
			if (validErr != nil) != (err != nil) {
				t.Errorf("bundle validate ends with %v, the dry run with %v", validErr, err)
			}
		})
	}
	_, err := e.kube.CoreV1().Namespaces().Get(t.Context(), "suggested-one", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the namespace was created: %v", err)
	}
}

func TestNamespaceOtherThanSuggested(t *testing.T) {
	e := newEnv(t)
	dir := suggestingBundle(t)
	const warning = "warning: the bundle suggests namespace suggested-one, and the namespace of this command is another-one"
	for name, test := range map[string]struct {
		flags []string
		warns bool
		asks  string
	}{
		"the suggested one": {nil, false, "Install it in namespace suggested-one? [y/N]"},
		"the same one":      {[]string{"-n", "suggested-one"}, false, "Install it in namespace suggested-one? [y/N]"},
		"another one":       {[]string{"-n", "another-one"}, true, "Install it in namespace another-one? [y/N]"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := webhooks(t, append([]string{"bundle", "install", dir}, test.flags...)...).CombinedOutput()
			question := strings.Index(string(out), test.asks)
			if err == nil || question < 0 || !strings.Contains(string(out), "nothing was changed") {
				t.Fatalf("%v, and the question is not asked:\n%s", err, out)
			}
			installtest.Same(t, "it warns", test.warns, strings.Contains(string(out[:question]), warning))
		})
	}
	for _, namespace := range []string{"suggested-one", "another-one"} {
		if _, err := e.kube.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Errorf("namespace %s was created: %v", namespace, err)
		}
	}
}
