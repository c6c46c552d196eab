package bundle

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// refused are the bundles that cannot be rendered, or whose manifests the API server does not
// accept: by which finding that is predicted, and what every line of the answer contains.
var refused = map[string]struct{ predicted, says string }{
	"cluster-aas-operator":     {"not-an-object", "is no Kubernetes object: it has no apiVersion"},
	"ndb-operator":             {"csv-schema", "spec.customresourcedefinitions.owned[0].resources[0].name: Required value"},
	"service-binding-operator": {"csv-api-version", "which no cluster knows as a ClusterServiceVersion"},
}

// corpus are the folders of the bundles of others, by name; none where BUNDLES is not set.
func corpus(t testing.TB) map[string]string {
	t.Helper()
	bundles := map[string]string{}
	folder := os.Getenv("BUNDLES")
	if folder == "" {
		return bundles
	}
	found, err := filepath.Glob(filepath.Join(folder, "*", "*", "metadata"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no bundle in %s: %v", folder, err)
	}
	for _, metadata := range found {
		dir := filepath.Dir(metadata)
		bundles[filepath.Base(filepath.Dir(dir))] = dir
	}
	return bundles
}

var update = flag.Bool("update", false, "write what is found in the bundles of others to testdata/findings.txt")

// TestFindingsOfRealBundles compares findings in real bundles with testdata/findings.txt, where each was reviewed.
func TestFindingsOfRealBundles(t *testing.T) {
	if os.Getenv("BUNDLES") == "" {
		t.Skip("BUNDLES is not set: no bundles of others to check")
	}
	var found strings.Builder
	bundles := corpus(t)
	for _, name := range slices.Sorted(maps.Keys(bundles)) {
		b := installtest.OrPanic(bundle.Inspect(bundles[name]))
		fmt.Fprintf(&found, "%s\n", name)
		for _, f := range lint.Run(b).Findings {
			fmt.Fprintf(&found, "  %-7s %s\n          %s\n", f.Level, strings.TrimSpace(f.Code+" "+f.Path), strings.ReplaceAll(f.What, "\n", " "))
			if f.File != "" && f.Line == 0 {
				t.Errorf("%s: %s in %s has no line", name, f.Code, f.File)
			}
			if f.Remedy == "" {
				t.Errorf("%s: %s names no next step: %s", name, f.Code, f.What)
			}
			if strings.HasPrefix(f.Code, "olm-") && f.Path == "" {
				t.Errorf("%s: %s names no field: %s", name, f.Code, f.What)
			}
		}
	}
	const file = "testdata/findings.txt"
	if *update {
		must(t, os.WriteFile(file, []byte(found.String()), 0o600))
	}
	want := installtest.OrPanic(os.ReadFile(file))
	installtest.Same(t, "findings", strings.Split(string(want), "\n"), strings.Split(found.String(), "\n"))
}

// TestManifestsOfBundlesAreAccepted asks what kubectl apply --server-side --dry-run=server
// asks, of the real bundles and of the examples.
func TestManifestsOfBundlesAreAccepted(t *testing.T) {
	e := newEnv(t)
	bundles := corpus(t)
	examples := installtest.OrPanic(filepath.Glob("../../examples/*/bundle*/metadata"))
	for _, metadata := range examples {
		dir := filepath.Dir(metadata)
		bundles[dir] = dir
	}
	for name, dir := range bundles {
		t.Run(name, func(t *testing.T) {
			err := dryRun(t, e, dir)
			want, known := refused[name]
			if !known {
				must(t, err)
				return
			}
			if err == nil {
				t.Fatalf("is accepted, but %s reports that it is not", want.predicted)
			}
			for line := range strings.Lines(err.Error()) {
				installtest.Contains(t, line, want.says)
			}
			b := installtest.OrPanic(bundle.Inspect(dir))
			installtest.Same(t, want.predicted+" predicts it", true, finds(b, want.predicted))
		})
	}
}

// dryRun applies a bundle's manifests without effect, except for the Namespace, without which nothing could be in it.
func dryRun(t *testing.T, e *env, dir string) error {
	t.Helper()
	manifests, err := renderedFrom(dir)
	if err != nil {
		return err
	}
	again := installtest.OrPanic(renderedFrom(dir))
	installtest.Same(t, "rendered twice it differs:", manifests, again)
	var all []error
	for _, object := range manifests {
		if object.GetKind() == "Namespace" {
			e.namespace(t, object.GetName())
		}
		if err := e.apply(t, object); err != nil {
			all = append(all, fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err))
		}
	}
	return errors.Join(all...)
}

func renderedFrom(dir string) ([]*unstructured.Unstructured, error) {
	b, err := bundle.Inspect(dir)
	if err != nil {
		return nil, err
	}
	return bundle.Manifests(b, bundle.Options{})
}

func (e *env) apply(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	resource, err := e.resource(object)
	if err != nil {
		return err
	}
	text, err := object.MarshalJSON()
	must(t, err)
	_, err = resource.Patch(t.Context(), object.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{
		DryRun: []string{metav1.DryRunAll}, FieldManager: "kubectl", FieldValidation: metav1.FieldValidationStrict, Force: ptr.To(false),
	})
	return err
}
