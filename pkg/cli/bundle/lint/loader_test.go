package lint

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/manifests"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// OLM's own loader handles files as findings report.
func TestOLMReadsItSo(t *testing.T) {
	const (
		csv     = "manifests/projectpolicy.clusterserviceversion.yaml"
		budget  = "manifests/projectpolicy-webhook_policy_v1_poddisruptionbudget.yaml"
		account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: extra}\n"
	)
	hasAccount := func(b *manifests.Bundle) bool {
		return slices.ContainsFunc(b.Objects, func(o *unstructured.Unstructured) bool { return o.GetName() == "extra" })
	}
	dependsOnNothing := func(b *manifests.Bundle) bool { return len(b.Dependencies) == 0 }
	for name, test := range map[string]struct {
		code    string // of the finding; empty for none
		change  func(texts)
		refuses string                       // what OLM's loader reports; empty where it accepts the bundle
		takes   func(*manifests.Bundle) bool // what it makes of it then
	}{
		"a whole bundle":       {"", func(f texts) { f["manifests/a.yaml"] = account }, "", hasAccount},
		"nothing":              {"not-a-bundle", func(f texts) { clear(f) }, "unable to find a csv", nil},
		"no CSV":               {"no-csv", func(f texts) { delete(f, csv) }, "unable to find a csv", nil},
		"two CSVs":             {"several-csvs", func(f texts) { f["manifests/a.yaml"] = f[csv] }, "contains multiple CSVs", nil},
		"broken YAML":          {"broken-file", func(f texts) { f["manifests/a.yaml"] = "a: {\n" }, "unable to decode object", nil},
		"a hidden file":        {"stray-file", func(f texts) { f["manifests/.a.yaml"] = account }, "has hidden file", nil},
		"a folder":             {"stray-file", func(f texts) { f["manifests/more/a.yaml"] = account }, "contains directory", nil},
		"two objects":          {"several-objects", func(f texts) { f[budget] += "---\n" + account }, "", func(b *manifests.Bundle) bool { return !hasAccount(b) }},
		"a field twice":        {"repeated-field", func(f texts) { f[csv] += "  displayName: The Last\n" }, "", func(b *manifests.Bundle) bool { return b.CSV.Spec.DisplayName == "The Last" }},
		"broken dependencies":  {"broken-metadata", func(f texts) { f["metadata/dependencies.yaml"] = "dependencies: {\n" }, "", dependsOnNothing},
		"a dependency of none": {"broken-entry", func(f texts) { f["metadata/dependencies.yaml"] = "dependencies: [{type: some, value: {}}]\n" }, "", dependsOnNothing},
		"no annotation at all": {"no-annotation", func(f texts) { delete(f, "metadata/annotations.yaml") }, "", func(b *manifests.Bundle) bool { return b.Package == "" }},
	} {
		t.Run(name, func(t *testing.T) {
			dir := readTexts(t, "../../../../examples/projectpolicy/bundle").change(test.change).write(t)
			read := installtest.OrPanic(bundle.Inspect(dir))
			report := Run(read)
			mustNameARemedy(t, report)
			found := lists.FilterMap(report.Findings, func(f Finding) (string, bool) { return f.Code, f.Basis == Unreadable })
			installtest.Same(t, "what is found", test.code, strings.Join(slices.Compact(found), " "))
			loaded, err := manifests.GetBundleFromDir(dir)
			switch {
			case test.refuses != "":
				installtest.Error(t, test.refuses, err)
			case err != nil:
				t.Errorf("OLM's loader refuses it: %v", err)
			case !test.takes(loaded):
				t.Errorf("OLM's loader makes something else of it: %+v", loaded)
			}
		})
	}
}

// texts are the files of a bundle, as they are written.
type texts map[string]string

func readTexts(t *testing.T, dir string) texts {
	t.Helper()
	all, source := texts{}, os.DirFS(dir)
	err := fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(source, name)
		all[name] = string(text)
		return err
	})
	must(t, err)
	return all
}

func (f texts) change(do func(texts)) texts {
	do(f)
	return f
}

func (f texts) write(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range f {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return dir
}
