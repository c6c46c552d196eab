package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

// What bundle render prints installs each example's bundles by one kubectl apply, and is
// the same each time. It is not parallel to others: the examples' own tests define the same
// resources.
func TestRenderedBundles(t *testing.T) {
	found, err := filepath.Glob("../../examples/*/bundle*/metadata")
	if err != nil || len(found) == 0 {
		t.Fatalf("no bundles: %v", err)
	}
	bundles := map[string][]string{}
	for _, metadata := range found {
		folder := filepath.Dir(metadata)
		example := filepath.Base(filepath.Dir(folder))
		bundles[example] = append(bundles[example], filepath.Base(folder))
	}
	for example, folders := range bundles {
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			for _, folder := range folders {
				t.Run(folder, func(t *testing.T) {
					term := &terminal{env: &env{T: t, ctx: context.WithoutCancel(t.Context()), namespace: "rendered-" + example, began: metav1.Now()}}
					term.rendersAndApplies("examples/" + example + "/" + folder)
				})
			}
		})
	}
}

func (t *terminal) rendersAndApplies(folder string) {
	t.Helper()
	render := []string{"bundle", "render", folder, "-n", t.namespace}
	manifests := t.works("", render...)
	if again := t.works("", render...); again != manifests {
		t.Errorf("rendered twice, %s differs:\n%s", folder, cmp.Diff(manifests, again))
	}
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	t.must(os.WriteFile(file, []byte(manifests), 0o600))
	t.Cleanup(func() {
		if t.Failed() {
			t.explain()
		}
		t.kubectl("delete", "csv", "--all", "-n", t.namespace, "--wait", "--ignore-not-found")
		t.kubectl("delete", "-f", file, "--ignore-not-found")
	})
	t.kubectl("apply", "--server-side", "-f", file)
	b, err := bundle.Read("../../" + folder)
	t.must(err)
	t.succeeds(b.CSV.Name)
}
