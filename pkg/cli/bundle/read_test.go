package bundle

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/text/encoding/unicode"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const (
	csvText = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: shop.v1.0.0
spec:
  displayName: Shop
  installModes:
  - {type: AllNamespaces, supported: true}
  install:
    strategy: deployment
    spec:
      deployments: []
`
	annotationsText = `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.package.v1: shop
  operators.operatorframework.io.bundle.channels.v1: alpha, stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`
)

// files is a bundle of the CSV and what is given; "" removes a file.
func files(more map[string]string) fstest.MapFS {
	all := map[string]string{"metadata/annotations.yaml": annotationsText, "manifests/csv.yaml": csvText}
	for name, text := range more {
		all[name] = text
	}
	fsys := fstest.MapFS{}
	for name, text := range all {
		if text != "" {
			fsys[name] = &fstest.MapFile{Data: []byte(text)}
		}
	}
	return fsys
}

func TestProblems(t *testing.T) {
	many := map[string]string{}
	for i := range maxFiles {
		many[fmt.Sprintf("manifests/%d.yaml", i)] = "# nothing\n"
	}
	const account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"a whole bundle":                 {nil, nil},
		"comments alone":                 {map[string]string{"manifests/a.yaml": "# nothing\n---\n# here\n"}, nil},
		"an empty file":                  {map[string]string{"manifests/a.yaml": "\n"}, nil},
		"nothing":                        {map[string]string{"metadata/annotations.yaml": "", "manifests/csv.yaml": ""}, []string{"not-a-bundle: is no bundle: it has neither"}},
		"no CSV":                         {map[string]string{"manifests/csv.yaml": ""}, []string{"no-csv: manifests: has no ClusterServiceVersion"}},
		"two CSVs":                       {map[string]string{"manifests/a.yaml": csvText}, []string{"several-csvs: manifests: has 2 ClusterServiceVersions (manifests/a.yaml, manifests/csv.yaml)"}},
		"another group":                  {map[string]string{"manifests/csv.yaml": strings.Replace(csvText, "operators.", "o.", 1)}, []string{`csv-api-version: manifests/csv.yaml:1: apiVersion: is "o.coreos.com/v1alpha1"`}},
		"broken YAML":                    {map[string]string{"manifests/a.yaml": "a: b\nc: {\n"}, []string{"broken-file: manifests/a.yaml:2: did not find"}},
		"a second broken":                {map[string]string{"manifests/a.yaml": account + "---\na: b\n  c: d\n"}, []string{"broken-file: manifests/a.yaml:6: mapping values are not allowed"}},
		"broken annotations":             {map[string]string{"metadata/annotations.yaml": "annotations: ["}, []string{"broken-file: metadata/annotations.yaml:1"}},
		"annotations misspelt":           {map[string]string{"metadata/annotations.yaml": strings.Replace(annotationsText, "annotations:", "annotation:", 1)}, []string{"unknown-field: metadata/annotations.yaml:1: [annotation]: is nothing that OLM reads", "no-annotation: metadata/annotations.yaml:1: has no annotation operators.operatorframework.io.bundle.package.v1", "has no annotation operators.operatorframework.io.bundle.channels.v1"}},
		"an annotation misspelt":         {map[string]string{"metadata/annotations.yaml": strings.Replace(annotationsText, "channels.v1", "chanels.v1", 1)}, []string{"unknown-field: metadata/annotations.yaml:5: annotations[operators.operatorframework.io.bundle.chanels.v1]: is no annotation of a bundle", "no-annotation: metadata/annotations.yaml:1: has no annotation operators.operatorframework.io.bundle.channels.v1"}},
		"an annotation twice":            {map[string]string{"metadata/annotations.yaml": annotationsText + "  operators.operatorframework.io.bundle.package.v1: shop\n"}, []string{"repeated-field: metadata/annotations.yaml:7"}},
		"annotations of others":          {map[string]string{"metadata/annotations.yaml": "---\n" + annotationsText + "  com.example.key: true\n"}, nil},
		"annotations that are not texts": {map[string]string{"metadata/annotations.yaml": "annotations: {a: [b]}\n"}, []string{"broken-file: metadata/annotations.yaml:1: cannot be read: cannot unmarshal array"}},
		"no annotations":                 {map[string]string{"metadata/annotations.yaml": ""}, []string{"no-annotation: metadata/annotations.yaml: is missing"}},
		"a stray file alone":             {map[string]string{"manifests/csv.yaml": "", "manifests/.a": account}, []string{"stray-file: manifests/.a", "no-csv: manifests"}},
		"a kind misspelt":                {map[string]string{"manifests/a.yaml": "apiVersion: policy/v1\nkind: PodDisruptionBudgett\nmetadata: {name: a}\n"}, []string{`unknown-kind: manifests/a.yaml:2: kind: is "PodDisruptionBudgett", and policy/v1 has no such kind`}},
		"a kind in lower case":           {map[string]string{"manifests/a.yaml": strings.Replace(account, "ServiceAccount", "serviceaccount", 1)}, []string{`unknown-kind: manifests/a.yaml:2: kind: is "serviceaccount", and v1 has no such kind`}},
		"a kind of another group":        {map[string]string{"manifests/a.yaml": strings.Replace(account, "v1", "apps/v1", 1)}, []string{`unknown-kind: manifests/a.yaml:2: kind: is "ServiceAccount", and apps/v1 has no such kind`}},
		"a version that there is not":    {map[string]string{"manifests/a.yaml": "apiVersion: policy/v3\nkind: PodDisruptionBudget\nmetadata: {name: a}\n"}, []string{`unknown-kind: manifests/a.yaml:1: apiVersion: is "policy/v3", and there are policy/v1, policy/v1beta1 alone`}},
		"a group that there is not":      {map[string]string{"manifests/a.yaml": strings.Replace(account, "v1", "polcy/v1", 1)}, []string{`unknown-kind: manifests/a.yaml:1: apiVersion: is "polcy/v1", and Kubernetes has no such group`}},
		"kinds of OLM":                   {map[string]string{"manifests/a.yaml": "apiVersion: operators.coreos.com/v2\nkind: OperatorCondition\nmetadata: {name: a}\n"}, nil},
		"kinds of others":                {map[string]string{"manifests/a.yaml": strings.Replace(account, "v1", "example.com/v1", 1)}, nil},
		"a scalar":                       {map[string]string{"manifests/a.txt": "hello\n"}, []string{"not-an-object: manifests/a.txt:1: is no Kubernetes object: a manifest is a mapping"}},
		"no kind":                        {map[string]string{"manifests/a.yaml": "---\napiVersion: v1\n"}, []string{"not-an-object: manifests/a.yaml:2: is no Kubernetes object: it has no kind"}},
		"a kind that is a list":          {map[string]string{"manifests/a.yaml": "apiVersion: v1\nkind: []\n"}, []string{"it has no kind"}},
		"no name":                        {map[string]string{"manifests/a.yaml": "apiVersion: v1\nkind: Secret\n"}, []string{"it has no metadata.name"}},
		"an unknown field":               {map[string]string{"manifests/csv.yaml": csvText + "  webhookDefinitions: []\n"}, []string{"unknown-field: manifests/csv.yaml:13: spec.webhookDefinitions: is no field"}},
		"a field twice":                  {map[string]string{"manifests/csv.yaml": csvText + "  displayName: Again\n"}, []string{`repeated-field: manifests/csv.yaml:13: key "displayName" already set in map`}},
		"a field of another type":        {map[string]string{"manifests/csv.yaml": csvText + "  keywords: many\n"}, []string{"wrong-type: manifests/csv.yaml:13: spec.keywords: is a string and has to be a []string"}},
		"a version that is none":         {map[string]string{"manifests/csv.yaml": csvText + "  version: one\n"}, []string{"wrong-type: manifests/csv.yaml:13: spec.version: is not accepted: "}},
		"several wrong types": {map[string]string{"manifests/csv.yaml": csvText + "  version: one\n  keywords: many\n  links: [{name: [a]}, b]\n  minKubeVersion: 1.30\n"}, []string{
			"wrong-type: manifests/csv.yaml:14: spec.keywords: is a string and has to be a []string", "wrong-type: manifests/csv.yaml:15: spec.links[0].name: is a array and has to be a string",
			"wrong-type: manifests/csv.yaml:15: spec.links[1]: is a string and has to be a v1alpha1.AppLink", "wrong-type: manifests/csv.yaml:16: spec.minKubeVersion: is a number and has to be a string",
			"wrong-type: manifests/csv.yaml:13: spec.version: is not accepted: ",
		}},
		"two in UTF-16":      {map[string]string{"manifests/a.yaml": utf16(account + "---\n" + account)}, []string{"several-objects: manifests/a.yaml:5: has 2 objects"}},
		"two objects":        {map[string]string{"manifests/a.yaml": account + "---\n" + account}, []string{"several-objects: manifests/a.yaml:5: has 2 objects"}},
		"a hidden file":      {map[string]string{"manifests/.a": account}, []string{"stray-file: manifests/.a: is hidden"}},
		"a folder":           {map[string]string{"manifests/crds/a.yaml": account}, []string{"stray-file: manifests/crds/a.yaml: is in a folder"}},
		"a huge file":        {map[string]string{"manifests/a.yaml": strings.Repeat("#", maxFile+1)}, []string{"too-big: manifests/a.yaml: has more than 4 MiB"}},
		"too many files":     {many, []string{"too-big: has more than 2000 files"}},
		"aliases of aliases": {map[string]string{"manifests/a.yaml": bomb()}, []string{"broken-file: manifests/a.yaml:1: its aliases (*name) repeat too much of it"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := InspectFS(files(c.files), "test")
			got := problemTexts(t, b)
			installtest.ContainsEach(t, got, c.want)
			installtest.Same(t, "Err() is nil", !slices.ContainsFunc(b.Problems, func(p Problem) bool { return p.Kind.Fatal() }), b.Err() == nil)
		})
	}
}

// problemTexts returns the problems of a bundle, each of which has a remedy.
func problemTexts(t *testing.T, b *Bundle) []string {
	t.Helper()
	var all []string
	for _, p := range b.Problems {
		all = append(all, fmt.Sprintf("%s: %s", p.Kind, p))
		if p.Remedy == "" {
			t.Errorf("%s: no way out of %q", p.Kind, p.Detail)
		}
	}
	return all
}

// bomb is a few lines of YAML that mean a billion values.
func bomb() string {
	text := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
	}
	return text
}

func TestMetadata(t *testing.T) {
	b := InspectFS(files(nil), "test")
	installtest.Same(t, "package", "shop", b.Package())
	installtest.Same(t, "default channel", "stable", b.DefaultChannel())
	installtest.Same(t, "channels", []string{"alpha", "stable"}, b.Channels())
}

func TestManifestsFolderThatTheAnnotationsName(t *testing.T) {
	b := InspectFS(files(map[string]string{
		"metadata/annotations.yaml": strings.Replace(annotationsText, "manifests/", "deploy/", 1),
		"manifests/csv.yaml":        "not: read\n",
		"deploy/csv.yaml":           csvText,
	}), "test")
	installtest.Must(t, b.Err())
	installtest.Same(t, "the file", "deploy/csv.yaml", b.CSVObject.File)
}

func TestLinksOutOfTheBundleAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"secret.yaml": csvText, "bundle/manifests/x": ""} {
		file := filepath.Join(dir, name)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	must(t, os.Symlink(filepath.Join(dir, "secret.yaml"), filepath.Join(dir, "bundle/manifests/csv.yaml")))
	b := installtest.OrPanic(Inspect(filepath.Join(dir, "bundle")))
	installtest.Error(t, "manifests/csv.yaml: cannot be read: path escapes", b.Err())
}

func TestLines(t *testing.T) {
	b := InspectFS(files(map[string]string{"manifests/a.yaml": `# A comment.
---
apiVersion: v1
kind: Service
metadata:
  name: a
  annotations:
    example.com/key: value
spec:
  ports:
  - port: 1
    name: one
  - {port: 2,
     name: two}
`}), "test")
	o := b.Find(groupkind.Service, "a")
	for path, want := range map[string]int{
		"":                                      3,
		"kind":                                  4,
		"metadata.annotations[example.com/key]": 8,
		"spec.ports[0]":                         11,
		"spec.ports[0].name":                    12,
		"spec.ports[1].name":                    14,
		"spec.ports[2].name":                    10,
		"spec.ports[1].protocol":                13,
		"spec.selector.app":                     9,
		"spec.ports[":                           10,
		"nowhere":                               3,
	} {
		installtest.Same(t, "line of "+path, want, o.Line(path))
	}
}

// A command that is to end reads no further document, and gets an error instead of a part of the bundle.
func TestReadingEndsWithTheContext(t *testing.T) {
	dir := t.TempDir()
	must(t, os.CopyFS(dir, files(map[string]string{"manifests/csv.yaml": csvText})))
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	_, err := Open(ctx, dir, Registry{})
	installtest.ErrorIs(t, context.Canceled, err)

	const document = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n"
	for name, content := range map[string]map[string]string{
		"documents": {"manifests/a.yaml": strings.Repeat(document, 20)},
		"files":     {"manifests/a.yaml": document, "manifests/b.yaml": document, "manifests/c.yaml": document, "manifests/d.yaml": document},
	} {
		r := newReader(t.Context(), "test")
		r.ended = func() error {
			if len(r.Objects) >= 2 {
				return context.Canceled
			}
			return nil
		}
		installtest.Same(t, name+": the number of objects read after the end", 2, len(r.inspectFS(files(content)).Objects))
	}
}

// utf16 returns a text as Windows PowerShell 5 writes it.
func utf16(text string) string {
	return installtest.OrPanic(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text))
}
