package bundle

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
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
	b := installtest.OrPanic(bundle.Open(t.Context(), folder(t, "bundle", files), bundle.Registry{}))
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
			installtest.Same(t, "bundle validate ends with an error", err != nil, validErr != nil)
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

// TestKubectlTakesRealBundles pipes bundle render into a dry run of kubectl, as docs/author/bundle-checks.md says.
func TestKubectlTakesRealBundles(t *testing.T) {
	bundles := corpus(t)
	if len(bundles) == 0 {
		t.Skip("BUNDLES is not set: no bundles of others to pipe into kubectl")
	}
	e := newEnv(t)
	environment := append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig, "PATH="+plugin(t)+":"+cluster.PATH())
	for name, dir := range bundles {
		t.Run(name, func(t *testing.T) {
			manifests, rendered := renderedFrom(dir)
			if rendered == nil {
				e.namespace(t, manifests[0].GetName())
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-o", "pipefail", "-c", `kubectl webhooks bundle render "$0" | kubectl apply --server-side --dry-run=server -f -`, dir)
			var hints bytes.Buffer
			cmd.Env, cmd.Stderr = environment, &hints
			taken, err := cmd.Output()
			want, known := refused[name]
			switch {
			case known && err == nil:
				t.Errorf("it is accepted, but %s reports that it is not", want.predicted)
			case known && !strings.Contains(hints.String(), want.says):
				t.Errorf("got %q, want %q", &hints, want.says)
			case !known && err != nil:
				t.Errorf("%v: %s", err, &hints)
			case !known && strings.Count(string(taken), "serverside-applied (server dry run)\n") != len(manifests):
				t.Errorf("of %d objects these are taken:\n%s", len(manifests), taken)
			}
		})
	}
}

func plugin(t *testing.T) string {
	t.Helper()
	path := installtest.OrPanic(programs.Path("kubectl-webhooks"))
	return filepath.Dir(path)
}

// mostProgram is what a tenth more than its code comes to: all methods of all types would come to 73 MB.
const mostProgram = 54 << 20

func TestProgramHoldsOnlyWhatIsCalled(t *testing.T) {
	path := installtest.OrPanic(programs.Path(programs.Manager))
	info := installtest.OrPanic(os.Stat(path))
	if info.Size() > mostProgram {
		t.Errorf("the program has %d bytes, more than %d: does anything call methods by name again (<ReflectMethod> in what go build -ldflags=-dumpdep prints)?", info.Size(), mostProgram)
	}
}

// webhooks is a command as a person gives it, without a terminal to answer a question.
func webhooks(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	path := installtest.OrPanic(programs.Path("kubectl-webhooks"))
	cmd := exec.CommandContext(t.Context(), path, arguments...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig)
	return cmd
}
