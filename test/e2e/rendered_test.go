package e2e

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

// What bundle render prints installs each example's bundles by one kubectl apply. It
// is not parallel: the examples' own tests define the same resources.
func TestRenderedBundles(t *testing.T) {
	for example, bundles := range map[string][]string{
		"projectpolicy": {"bundle"}, "poddefaults": {"bundle"},
		"crdconversion": {"bundle-v1", "bundle-v2"}, "volumelabels": {"bundle-one-process", "bundle-two-processes"},
	} {
		for _, folder := range bundles {
			t.Run(example+"/"+folder, func(t *testing.T) {
				b, err := bundle.Read("../../examples/" + example + "/" + folder)
				if err != nil {
					t.Fatal(err)
				}
				e := &env{T: t, ctx: context.WithoutCancel(t.Context()), namespace: "rendered-" + example, began: metav1.Now()}
				file := e.render(b)
				e.Cleanup(func() {
					if e.Failed() {
						e.explain()
					}
					e.kubectl("delete", "csv", "--all", "-n", e.namespace, "--wait", "--ignore-not-found")
					e.kubectl("delete", "-f", file, "--ignore-not-found")
				})
				e.kubectl("apply", "--server-side", "-f", file)
				e.succeeds(b.CSV.Name)
			})
		}
	}
}

// render writes the manifests of a bundle into a file.
func (e *env) render(b *bundle.Bundle) string {
	e.Helper()
	manifests, err := bundle.Manifests(b, bundle.Options{Namespace: e.namespace})
	e.must(err)
	var text bytes.Buffer
	for _, m := range manifests {
		one, err := yaml.Marshal(m)
		e.must(err)
		text.WriteString("---\n")
		text.Write(one)
	}
	file := filepath.Join(e.TempDir(), "manifests.yaml")
	e.must(os.WriteFile(file, text.Bytes(), 0o600))
	return file
}
