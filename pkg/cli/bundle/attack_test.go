package bundle

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/internal/need"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const fuzzedCSV = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: a.v1}\n"

// attacks are files of about 1 MiB, each made to need more time or memory than its size.
var attacks = map[string]struct{ file, text, says string }{
	"unknown fields":          {"manifests/a.yaml", fuzzedCSV + "spec: {" + installtest.Numbered(maxInput/9, "k%07x,") + "}\n", "more than 200 problems"},
	"unknown top fields":      {"manifests/a.yaml", fuzzedCSV + installtest.Numbered(60000, "k%x: 1\n"), ""},
	"unknown webhook fields":  {"manifests/a.yaml", fuzzedCSV + "spec: {webhookdefinitions: [" + strings.Repeat("{aaaaaaaaaaaa: 1},", maxInput/18) + "]}\n", ""},
	"unknown fields deep":     {"manifests/a.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {versions: [{schema: {openAPIV3Schema: " + strings.Repeat("{x: 1, not: ", 5000) + "{}" + strings.Repeat("}", 5000) + "}}]}\n", "inside each other"},
	"deep":                    {"manifests/a.yaml", fuzzedCSV + "spec: " + strings.Repeat("[", 9900) + strings.Repeat("]", 9900) + "\n", "inside each other"},
	"documents":               {"manifests/a.yaml", strings.Repeat("---\n", maxInput/4), "YAML documents"},
	"scalar documents":        {"manifests/a.yaml", strings.Repeat("---\na\n", maxInput/6), ""},
	"broken documents":        {"manifests/a.yaml", strings.Repeat("---\n[\n", maxInput/6), "YAML documents"},
	"objects":                 {"manifests/a.yaml", installtest.Numbered(maxInput/60, "---\napiVersion: v1\nkind: K%07x\nmetadata: {name: a}\n"), ""},
	"objects of others":       {"manifests/a.yaml", installtest.Numbered(maxInput/60, "---\napiVersion: a.b/v1\nkind: K%07x\nmetadata: {name: a}\n"), ""},
	"CSVs":                    {"manifests/a.yaml", strings.Repeat("---\n"+fuzzedCSV, maxInput/len(fuzzedCSV)), ""},
	"repeated keys":           {"manifests/a.yaml", fuzzedCSV + strings.Repeat("a: 1\n", 60000), ""},
	"repeated long keys":      {"manifests/a.yaml", fuzzedCSV + strings.Repeat(strings.Repeat("a", 1000)+": 1\n", maxInput/1005), ""},
	"quantity":                {"manifests/a.yaml", deploymentWith("1e2147483647"), "too large an exponent"},
	"small quantity":          {"manifests/a.yaml", deploymentWith("'1e-2147483647'"), "too large an exponent"},
	"long quantity":           {"manifests/a.yaml", deploymentWith("1.00000000000000000000000000000001e1000000000"), "too large an exponent"},
	"quantity of digits":      {"manifests/a.yaml", deploymentWith(strings.Repeat("9", maxInput-1000)), "too many digits"},
	"number of digits":        {"manifests/a.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\nx: " + strings.Repeat("9", maxInput-1000) + "\n", ""},
	"float of digits":         {"manifests/a.yaml", "apiVersion: a.b/v1\nkind: C\nmetadata: {name: a}\nx: 1." + strings.Repeat("9", maxInput-1000) + "e9\n", ""},
	"binary":                  {"manifests/a.yaml", "apiVersion: a.b/v1\nkind: C\nmetadata: {name: a}\nx: !!binary " + strings.Repeat("A", maxInput-1000) + "\n", ""},
	"base 60":                 {"manifests/a.yaml", "apiVersion: a.b/v1\nkind: C\nmetadata: {name: a}\nx: 1" + strings.Repeat(":59", 20000) + "\n", ""},
	"range":                   {"metadata/dependencies.yaml", "dependencies: [{type: olm.package, value: {packageName: a, version: '" + strings.Repeat("1.x||", maxInput/6) + "1.x'}}]\n", ""},
	"range of spaces":         {"metadata/dependencies.yaml", "dependencies: [{type: olm.package, value: {packageName: a, version: '" + strings.Repeat(">1.x ", maxInput/6) + "'}}]\n", ""},
	"CEL list":                {"metadata/dependencies.yaml", "dependencies: [{type: olm.constraint, value: {cel: {rule: '[" + strings.Repeat("1,", 49000) + "1] == []'}}}]\n", "characters"},
	"CEL lists":               {"metadata/dependencies.yaml", "dependencies: [" + strings.Repeat("{type: olm.constraint, value: {cel: {rule: '["+strings.Repeat("1,", 49000)+"1] == []'}}},", 10) + "]\n", ""},
	"CEL rules":               {"metadata/dependencies.yaml", "dependencies: [" + strings.Repeat("{type: olm.constraint, value: {cel: {rule: 'true'}}},", maxInput/54) + "]\n", ""},
	"CEL rules with spaces":   {"metadata/dependencies.yaml", "dependencies: [" + strings.Repeat("{type: olm.constraint, value: {cel: {rule: 'true                  '}}},\n", maxInput/76) + "]\n", ""},
	"CEL long rules":          {"metadata/dependencies.yaml", "dependencies: [" + strings.Repeat("{type: olm.constraint, value: {cel: {rule: '"+strings.Repeat("a.b(x)[1]+", 300)+"1'}}},", maxInput/3060) + "]\n", "constraints of the file"},
	"items":                   {"manifests/a.yaml", "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a}\nspec: {versions: [{schema: {openAPIV3Schema: " + strings.Repeat("{items: ", 110) + "{description: " + strings.Repeat("a", maxInput-3000) + "}" + strings.Repeat("}", 110) + "}}]}\n", ""},
	"CEL nested":              {"metadata/dependencies.yaml", "dependencies: [{type: olm.constraint, value: {cel: {rule: '" + strings.Repeat("[1].all(x,", 200) + "true" + strings.Repeat(")", 200) + "'}}}]\n", ""},
	"nested constraints":      {"metadata/dependencies.yaml", "dependencies: [{type: olm.constraint, value: " + strings.Repeat("{all: {constraints: [", 3000) + "{}" + strings.Repeat("]}}", 3000) + "}]\n", "inside each other"},
	"many constraints":        {"metadata/dependencies.yaml", "dependencies: [{type: olm.constraint, value: {all: {constraints: [" + strings.Repeat("{aaaaaaaa},", maxInput/11) + "]}}}]\n", ""},
	"broken entries":          {"metadata/dependencies.yaml", "dependencies: [" + strings.Repeat("{aaaaaaaaaaaa},", maxInput/15) + "]\n", ""},
	"unknown keys of a list":  {"metadata/dependencies.yaml", "dependencies: []\n" + installtest.Numbered(maxInput/17, "kkkkkkkk%07x:\n"), "more than 200 problems"},
	"entries of unknown keys": {"metadata/properties.yaml", "properties: [{type: olm.gvk, value: {" + installtest.Numbered(maxInput/9, "k%07x,") + "}}]\n", ""},
	"annotations":             {annotationsFile, "annotations: {" + installtest.Numbered(maxInput/60, annotationPrefix+"k%07x: a, ") + "}\n", ""},
	"unknown annotation keys": {annotationsFile, installtest.Numbered(60000, "k%07x: 1\n"), ""},
	"channels":                {annotationsFile, "annotations: {" + channelsAnnotation + ": '" + strings.Repeat("a,", maxInput/2-100) + "'}\n", ""},
	"manifests folder":        {annotationsFile, "annotations: {" + manifestsAnnotation + ": '" + strings.Repeat("a/", maxInput/2-100) + "'}\n", ""},
	"json in a string":        {"manifests/a.yaml", fuzzedCSV[:len(fuzzedCSV)-2] + ", annotations: {alm-examples: '" + strings.Repeat("[", maxInput-1000) + "'}}\n", ""},
}

func deploymentWith(quantity string) string {
	return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {template: {spec: {containers: [{name: a, resources: {limits: {memory: " + quantity + "}}}]}}}\n"
}

// Each attack is read within the limits, and what is not read is a problem.
func TestAttacks(t *testing.T) {
	celEnvironment()
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			var b *Bundle
			needs(t, func() { b = InspectFS(fstest.MapFS{attack.file: {Data: []byte(attack.text)}}, "attack") })
			installtest.Contains(t, fmt.Sprint(b.Problems), attack.says)
		})
	}
}

const maxInput = need.MaxInput

func needs(t *testing.T, do func()) {
	t.Helper()
	need.Limited(t, do)
}

// FuzzTexts reads a text as each file that a bundle has: none needs more than a bundle may.
func FuzzTexts(f *testing.F) {
	for _, c := range complexTexts {
		f.Add([]byte(c.text))
	}
	f.Add([]byte("apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: a}\nspec: {webhookdefinitions: [" + strings.Repeat("{type: a, rules: [{a: b}]},", 500) + "]}\n"))
	f.Add([]byte("dependencies: [" + strings.Repeat("{type: olm.constraint, value: {cel: {rule: 'true'}}},", 500) + "]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > maxInput {
			return
		}
		for _, name := range []string{"manifests/a.yaml", annotationsFile, "metadata/dependencies.yaml", "metadata/properties.yaml"} {
			needs(t, func() { InspectFS(fstest.MapFS{name: {Data: text}}, "fuzz") })
		}
	})
}

// FuzzLayout reads an OCI layout of any content. The digests of its blobs are filled in.
func FuzzLayout(f *testing.F) {
	const (
		index    = `{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":2,"digest":"$manifest"}]}`
		nested   = `{"manifests":[{"mediaType":"application/vnd.oci.image.index.v1+json","size":2,"digest":"$manifest"}]}`
		layer    = `{"mediaType":"application/vnd.oci.image.layer.v1.tar","size":1,"digest":"$blob"}`
		manifest = `{"schemaVersion":2,"config":` + layer + `,"layers":[` + layer
	)
	f.Add([]byte(index), []byte(`{}`), []byte{})
	f.Add([]byte(nested), []byte(`{"manifests":[]}`), []byte{})
	f.Add([]byte(index), []byte(manifest+`]}`), archive(f, bundleFiles))
	f.Add([]byte(index), []byte(manifest+strings.Repeat(","+layer, 9000)+`]}`), []byte{})
	f.Add([]byte(`{`), []byte(`[`), []byte{})
	f.Fuzz(func(t *testing.T, index, manifest, blob []byte) {
		manifest = bytes.ReplaceAll(manifest, []byte("$blob"), []byte(digestOf(blob)))
		index = bytes.ReplaceAll(index, []byte("$manifest"), []byte(digestOf(manifest)))
		if len(index)+len(manifest)+len(blob) > maxInput {
			return
		}
		dir := t.TempDir()
		must(t, os.MkdirAll(filepath.Join(dir, "blobs", "sha256"), 0o700))
		for name, text := range map[string][]byte{
			"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`), "index.json": index,
			"blobs/" + strings.Replace(digestOf(manifest), ":", "/", 1): manifest,
			"blobs/" + strings.Replace(digestOf(blob), ":", "/", 1):     blob,
		} {
			must(t, os.WriteFile(filepath.Join(dir, name), text, 0o600))
		}
		needs(t, func() { _, _ = Open(t.Context(), dir, Registry{}) })
	})
}

func digestOf(text []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(text)) }
