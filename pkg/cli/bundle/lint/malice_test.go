package lint

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/internal/need"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Everything that the fixture tries is named, at the object that tries it.
func TestMaliceIsNamed(t *testing.T) {
	b, err := bundle.Inspect("../testdata/malice")
	must(t, err)
	var found []string
	for _, f := range Run(b).Findings {
		if f.Code == "rule-matches-nothing" && strings.Contains(f.What, "Namespace") && f.Level != Error {
			t.Errorf("a kind in place of a resource is a %s", f.Level)
		}
		found = append(found, f.Code+" "+f.File+" "+f.Path)
	}
	const csv, annotations = " manifests/csv.yaml ", " metadata/annotations.yaml annotations[operators.operatorframework.io.bundle."
	installtest.Among(t, found,
		"unknown-field"+csv+"[spec.webhookdefinitions[1].objectSelector]",
		"unknown-field"+csv+"[spec.webhookdefinitions[1].failurePolicy]",
		"unknown-field"+csv+"spec.webhookdefinitions[0].failurePolcy",
		"unknown-field manifests/role.yaml [rules[0].resourceNames]",
		"unknown-field"+csv+"metadata.annotations[olm-webhook-manager.io/force-conversion-removal]",
		"unknown-field manifests/definition.yaml metadata.annotations[olm-webhook-manager.io/stored-versions]",
		"media-type"+annotations+"mediatype.v1]",
		"default-channel"+annotations+"channel.default.v1]",
		"replaces-itself"+csv+"spec.replaces",
		"image-without-version"+csv+"spec.install.spec.deployments[0].spec.template.spec.containers[0].image",
		"grants-everything"+csv+"spec.install.spec.clusterPermissions[0].rules[0]",
		"rule-matches-nothing"+csv+"spec.webhookdefinitions[0].rules[1].resources",
		"grants-to-others manifests/binding.yaml subjects[0]",
		"grants-to-others manifests/edit.yaml subjects[0]",
		"grants-everything manifests/binding.yaml roleRef",
		"grants-everything manifests/view.yaml rules[0]",
		"olm-object manifests/priority.yaml globalDefault",
		"conversion-undeclared manifests/definition.yaml spec.conversion",
		"refused-object manifests/account.yaml kind",
		"refused-object manifests/apiservice.yaml kind",
		"refused-object manifests/foreigngroup.yaml kind",
		"refused-object manifests/group.yaml kind",
		"refused-object manifests/namespace.yaml kind",
		"refused-object manifests/policy.yaml kind",
		"refused-object manifests/subscription.yaml kind",
		"refused-object manifests/webhooks.yaml kind",
		"refused-object manifests/webhooks.yaml webhooks[0].rules[0]",
	)
}

// A forbidden object is refused, independent of the bundle's other objects.
func TestRefusedObjects(t *testing.T) {
	for name, c := range map[string]struct{ text, code string }{
		"a kind that is not listed": {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\n", "refused-object"},
		"an OperatorGroup":          {"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: a}\n", "refused-object"},
		"a Namespace":               {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", "refused-object"},
	} {
		t.Run(name, func(t *testing.T) {
			b := bundle.InspectFS(fstest.MapFS{
				"manifests/csv.yaml": {Data: []byte(smallCSV)}, "manifests/a.yaml": {Data: []byte(c.text)}, "metadata/annotations.yaml": {Data: []byte(smallAnnotations)},
			}, "test")
			if !slices.ContainsFunc(Run(b).Findings, func(f Finding) bool { return f.Code == c.code }) {
				t.Errorf("%s is not found", c.code)
			}
			var refused *bundle.RefusedError
			if _, err := bundle.Manifests(b, bundle.Options{}); !errors.As(err, &refused) {
				t.Errorf("it is not refused: %v", err)
			}
		})
	}
}

// unreadable is added to the fixture: with it nothing can be installed, and still each attempt is named.
var unreadable = fstest.MapFS{
	"manifests/aliases.yaml":       {Data: []byte("a: &a [" + strings.Repeat("x,", 9999) + "]\nb: &b [" + strings.Repeat("*a,", 9999) + "]\nc: [" + strings.Repeat("*b,", 9999) + "]\n")},
	"manifests/list.yaml":          {Data: []byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]\n")},
	"manifests/secrets.yaml":       {Data: []byte("apiVersion: v1\nkind: SecretList\nitems: [{metadata: {name: a}}]\n")},
	"manifests/deep.yaml":          {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "\n")},
	"manifests/quantity.yaml":      {Data: []byte("apiVersion: v1\nkind: LimitRange\nmetadata: {name: a}\nspec: {limits: [{type: Pod, max: {cpu: 1.00000000000000000000e1000000000}}]}\n")},
	"manifests/many.yaml":          {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + numbered(300, "unknown%d: 1\n"))},
	"manifests/pipe.yaml":          {Mode: fs.ModeNamedPipe},
	"manifests/.hidden.yaml":       {Data: []byte("a: b\n")},
	"manifests/\x1b[2J.yaml":       {Data: []byte("apiVersion: v1\nkind: List\n0 errors\n")},
	"manifests/csv\nnone.yaml":     {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: \"a\\e[2J\\n0 errors\"}\nunknown: 1\n")},
	"metadata/properties.yaml":     {Data: []byte("properties: [{type: olm.constraint, value: {cel: {rule: '" + strings.Repeat("1+", 5000) + "1'}}}]\n")},
	"metadata/dependencies.yaml":   {Data: []byte("dependencies: &a [*a]\n")},
	"manifests/sub/other-csv.yaml": {Data: []byte(smallCSV)},
}

func TestUnreadableMaliceIsNamed(t *testing.T) {
	files := maps.Clone(unreadable)
	err := fs.WalkDir(os.DirFS("../testdata/malice"), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(filepath.Join("../testdata/malice", name))
		files[name] = &fstest.MapFile{Data: text}
		return err
	})
	must(t, err)
	var report Report
	need.Limited(t, func() { report = Run(bundle.InspectFS(files, "malice\x1b[2J")) })
	var found []string
	for _, f := range report.Findings {
		found = append(found, f.Code+" "+f.File)
	}
	installtest.Among(t, found,
		"broken-file manifests/aliases.yaml", "not-an-object manifests/list.yaml", "not-an-object manifests/secrets.yaml", "broken-file manifests/deep.yaml",
		"wrong-type manifests/quantity.yaml", "unknown-field manifests/many.yaml", "broken-file manifests/pipe.yaml", "stray-file manifests/.hidden.yaml",
		"broken-file manifests/\x1b[2J.yaml", "unknown-field manifests/csv\nnone.yaml", "broken-entry metadata/properties.yaml", "broken-metadata metadata/dependencies.yaml",
		"stray-file manifests/sub/other-csv.yaml", "refused-object manifests/webhooks.yaml", "grants-to-others manifests/binding.yaml",
	)
	var out strings.Builder
	report.Print(output.New(&out))
	if strings.ContainsRune(out.String(), '\x1b') || strings.Contains(out.String(), "\n0 errors") {
		t.Errorf("written raw:\n%q", out.String())
	}
}
