package bundle

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle/lint"
)

// mistakes are the errors of the bundles that have any: they were looked at one by one,
// and each is the bundle's own.
var mistakes = map[string][]string{
	"cluster-aas-operator":                 {"not-an-object"},               // two ClusterRoles without apiVersion
	"ndb-operator":                         {"csv-schema", "unknown-field"}, // resources without names; a field ddapiVersion
	"rabbitmq-cluster-operator":            {"unknown-field"},               // spec.support
	"rabbitmq-messaging-topology-operator": {"unknown-field"},               // spec.support
	"service-binding-operator":             {"csv-api-version"},             // binding.operators.coreos.com/v1alpha1
	"tagger":                               {"olm-bundle"},                  // a ServiceAccount that is in the ClusterServiceVersion too
}

// refused are the bundles whose manifests no API server accepts, and by which finding
// that is foretold.
var refused = map[string]string{
	"cluster-aas-operator":     "not-an-object",
	"ndb-operator":             "csv-schema",
	"service-binding-operator": "csv-api-version",
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

func TestFindingsOfRealBundles(t *testing.T) {
	if os.Getenv("BUNDLES") == "" {
		t.Skip("BUNDLES is not set: no bundles of others to look at")
	}
	for name, dir := range corpus(t) {
		t.Run(name, func(t *testing.T) {
			b, err := bundle.Inspect(dir)
			must(t, err)
			var found []string
			for _, f := range lint.Run(b).Findings {
				if f.Level == lint.Error && !slices.Contains(found, f.Code) {
					found = append(found, f.Code)
				}
				if f.File != "" && f.Line == 0 {
					t.Errorf("%s in %s has no line", f.Code, f.File)
				}
			}
			slices.Sort(found)
			if diff := cmp.Diff(mistakes[name], found); diff != "" {
				t.Errorf("errors (-want +got)\n%s", diff)
			}
		})
	}
}

// TestManifestsOfBundlesAreAccepted asks what kubectl apply --server-side --dry-run=server
// asks, of the real bundles and of the examples.
func TestManifestsOfBundlesAreAccepted(t *testing.T) {
	e := newEnv(t)
	bundles := corpus(t)
	examples, err := filepath.Glob("../../examples/*/bundle*/metadata")
	must(t, err)
	for _, metadata := range examples {
		dir := filepath.Dir(metadata)
		bundles[dir] = dir
	}
	for name, dir := range bundles {
		t.Run(name, func(t *testing.T) {
			err := e.dryRun(t, dir)
			if foretold := refused[name]; foretold != "" {
				if err == nil {
					t.Errorf("is accepted, and validate says %s", foretold)
				}
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

// dryRun applies a bundle's manifests without effect, but for the Namespace, without which
// nothing could be in it.
func (e *env) dryRun(t *testing.T, dir string) error {
	t.Helper()
	b, err := bundle.Read(dir)
	if err != nil {
		return err
	}
	manifests, err := bundle.Manifests(b, bundle.Options{})
	if err != nil {
		return err
	}
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
