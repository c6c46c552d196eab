package lint

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/internal/need"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// maliceNamed are the findings of the fixture, by the file that makes the attempt.
var maliceNamed = map[string][]string{
	"metadata/annotations.yaml": {
		"media-type annotations[operators.operatorframework.io.bundle.mediatype.v1]",
		"default-channel annotations[operators.operatorframework.io.bundle.channel.default.v1]",
	},
	"manifests/account.yaml":    {"refused-object kind"},
	"manifests/apiservice.yaml": {"refused-object kind"},
	"manifests/binding.yaml":    {"grants-to-others subjects[0]", "grants-everything roleRef"},
	"manifests/csv.yaml": {
		"unknown-field [spec.webhookdefinitions[1].objectSelector]",
		"unknown-field [spec.webhookdefinitions[1].failurePolicy]",
		"unknown-field [spec.webhookdefinitions[1].timeoutSeconds]",
		"unknown-field spec.webhookdefinitions[0].failurePolcy",
		"unknown-field metadata.annotations[olm-webhook-manager.io/force-conversion-removal]",
		"privileged-namespace metadata.annotations[operatorframework.io/suggested-namespace-template]",
		"replaces-itself spec.replaces",
		"reserved-group spec.apiservicedefinitions.owned[0].group",
		"grants-everything spec.install.spec.clusterPermissions[0].rules[0]",
		"image-without-version spec.install.spec.deployments[0].spec.template.spec.containers[0].image",
		"host-access spec.install.spec.deployments[1].spec.template.spec",
		"missing-service-account spec.install.spec.deployments[1].spec.template.spec.serviceAccountName",
		"rule-matches-nothing spec.webhookdefinitions[0].rules[1].resources",
	},
	"manifests/definition.yaml":   {"unknown-field metadata.annotations[olm-webhook-manager.io/stored-versions]", "conversion-undeclared spec.conversion"},
	"manifests/edit.yaml":         {"grants-to-others subjects[0]"},
	"manifests/foreigngroup.yaml": {"refused-object kind"},
	"manifests/group.yaml":        {"refused-object kind"},
	"manifests/namespace.yaml":    {"refused-object kind"},
	"manifests/policy.yaml":       {"refused-object kind"},
	"manifests/priority.yaml":     {"olm-object globalDefault"},
	"manifests/role.yaml":         {"unknown-field [rules[0].resourceNames]", "aggregated-role rules[0]"},
	"manifests/service.yaml":      {"exposed-service spec"},
	"manifests/subscription.yaml": {"refused-object kind"},
	"manifests/token.yaml":        {"token-secret type"},
	"manifests/unbound.yaml":      {"unbound-role rules[0]"},
	"manifests/view.yaml":         {"grants-everything rules[0]"},
	"manifests/webhooks.yaml":     {"refused-object kind", "refused-object webhooks[0].rules[0]"},
}

// The attempt of each file of the fixture is named, at the object that makes it. A file without a row fails.
func TestMaliceIsNamed(t *testing.T) {
	const folder = "../testdata/malice"
	b := installtest.OrPanic(bundle.Inspect(folder))
	found := map[string][]string{}
	for _, f := range Run(b).Findings {
		if f.Code == "rule-matches-nothing" && strings.Contains(f.What, "Namespace") && f.Level != Error {
			t.Errorf("a kind in place of a resource is a %s", f.Level)
		}
		found[f.File] = append(found[f.File], f.Code+" "+f.Path)
	}
	files := map[string]bool{}
	must(t, fs.WalkDir(os.DirFS(folder), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[name] = true
		}
		return err
	}))
	for file := range files {
		installtest.Same(t, "a finding is expected of "+file, true, len(maliceNamed[file]) > 0)
	}
	for file, want := range maliceNamed {
		installtest.Same(t, "the fixture has the file "+file, true, files[file])
		installtest.Among(t, found[file], want...)
	}
}

// The findings that an administrator has to know are waived as others are.
func TestExposureIsWaived(t *testing.T) {
	b := installtest.OrPanic(bundle.Inspect("../testdata/malice"))
	waivers := lists.Map(exposureChecks, func(c Check) Waiver { return Waiver{Code: c.Code, Reason: "because"} })
	waived := lists.Filter(Run(b, waivers...).Findings, func(f Finding) bool { return f.Waived != "" })
	for _, c := range exposureChecks {
		installtest.Same(t, "a finding of "+c.Code+" is waived", true, slices.ContainsFunc(waived, func(f Finding) bool { return f.Code == c.Code }))
	}
}

// A role and a token of the bundle's own account, and its own API groups, are no exposure.
func TestOwnPermissionsAreNoExposure(t *testing.T) {
	const definition = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: goods.shop.example.com}\nspec: {group: shop.example.com, scope: Namespaced, names: {kind: Good, plural: goods}, versions: []}\n"
	role := func(group string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: [{apiGroups: ['" + group + "'], resources: ['*'], verbs: ['*']}]\n"
	}
	const account = "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a}\n"
	binding := func(namespace string) string {
		return "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: a}\nsubjects: [{kind: ServiceAccount, name: a" + namespace + "}]\n"
	}
	const token = "apiVersion: v1\nkind: Secret\nmetadata: {name: a, annotations: {kubernetes.io/service-account.name: b}}\ntype: kubernetes.io/service-account-token\n"
	for name, c := range map[string]struct {
		objects []string
		want    string
	}{
		"own group":                  {[]string{role("shop.example.com"), definition}, ""},
		"another group":              {[]string{role("other.example.com"), definition}, "unbound-role"},
		"bound":                      {[]string{role("other.example.com"), account, binding("")}, ""},
		"bound in the own namespace": {[]string{role("other.example.com"), account, binding(", namespace: shop")}, ""},
		"bound in another namespace": {[]string{role("other.example.com"), account, binding(", namespace: kube-system")}, "grants-to-others"},
		"own token":                  {[]string{token, strings.Replace(account, "name: a", "name: b", 1)}, ""},
		"token without its account":  {[]string{token}, "token-secret"},
	} {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"manifests/csv.yaml": {Data: []byte(smallCSV)}, "metadata/annotations.yaml": {Data: []byte(smallAnnotations)}}
			for i, text := range c.objects {
				files["manifests/"+string(rune('d'+i))+".yaml"] = &fstest.MapFile{Data: []byte(text)}
			}
			found := lists.FilterMap(Run(bundle.InspectFS(files, "test")).Findings, func(f Finding) (string, bool) {
				return f.Code, strings.HasPrefix(f.File, "manifests/") && f.File != "manifests/csv.yaml" && slices.Contains([]string{"unbound-role", "grants-to-others", "token-secret"}, f.Code)
			})
			installtest.Same(t, "findings", c.want, strings.Join(found, " "))
		})
	}
}

// A forbidden object is refused, independent of the bundle's other objects.
func TestRefusedObjects(t *testing.T) {
	for name, c := range map[string]struct{ text, code string }{
		"a kind that is not listed": {"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: a}\n", "refused-object"},
		"an OperatorGroup":          {"apiVersion: operators.coreos.com/v1\nkind: OperatorGroup\nmetadata: {name: a}\n", "refused-object"},
		"a Namespace":               {"apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n", "refused-object"},
	} {
		t.Run(name, func(t *testing.T) {
			b := smallBundle(c.text)
			installtest.Among(t, codes(Run(b)), c.code)
			var refused *bundle.RefusedError
			if _, err := bundle.Manifests(b, bundle.Options{}); !errors.As(err, &refused) {
				t.Errorf("it is not refused: %v", err)
			}
		})
	}
}

// The findings of names of images, in containers and in init containers.
func TestImageNames(t *testing.T) {
	const digest = "@sha256:0123456789012345678901234567890123456789012345678901234567890123"
	for name, c := range map[string]struct{ image, code string }{
		"a tag":               {"registry.example.com:5000/shop:v1", ""},
		"a digest":            {"shop" + digest, ""},
		"a tag and a digest":  {"registry.example.com/shop:v1" + digest, ""},
		"capital letters":     {"Registry.example.com/shop:V1", ""},
		"a port":              {"registry.example.com:5000/shop", "image-without-version"},
		"a name":              {"shop", "image-without-version"},
		"two colons":          {"registry.example.com/shop::v1", "image-name"},
		"two slashes":         {"a//b:v1", "image-name"},
		"no tag after colon":  {"registry.example.com/shop:", "image-name"},
		"a template":          {"{{ tpl }}:v1", "image-name"},
		"a short digest":      {"shop@sha256:0123", "image-name"},
		"a capital letter":    {"registry.example.com/Shop:v1", "image-name"},
		"a blank":             {"shop:v1 ", "image-name"},
		"a variable of shell": {"shop:${TAG}", "image-name"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, field := range []string{"containers", "initContainers"} {
				f := readFiles(t, "../../../../examples/projectpolicy/bundle")
				other := map[string]any{"name": "other", "image": c.image}
				list, _ := f.pod()[field].([]any)
				f.pod()[field] = append(list, other)
				found := lists.Filter(codes(Run(inspect(t, f))), func(code string) bool { return strings.HasPrefix(code, "image-") })
				installtest.Same(t, "findings of "+field, c.code, strings.Join(found, " "))
			}
		})
	}
}

func smallBundle(manifests ...string) *bundle.Bundle {
	files := fstest.MapFS{"manifests/csv.yaml": {Data: []byte(smallCSV)}, "metadata/annotations.yaml": {Data: []byte(smallAnnotations)}}
	for i, text := range manifests {
		files[fmt.Sprintf("manifests/%d.yaml", i)] = &fstest.MapFile{Data: []byte(text)}
	}
	return bundle.InspectFS(files, "test")
}

// The commands refuse what the check reports.
func TestRepeatedObjects(t *testing.T) {
	for name, c := range map[string]struct{ text, other, code string }{
		"two namespaces":  {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: c}\n", "repeated-object"},
		"two versions":    {"apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n", "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: a}\n", "repeated-object"},
		"two kinds":       {"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", ""},
		"a kind's groups": {"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n", "apiVersion: console.openshift.io/v1\nkind: ConsoleLink\nmetadata: {name: a}\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := smallBundle(c.text, c.other)
			_, err := bundle.Manifests(b, bundle.Options{})
			if (c.code == "repeated-object") != (err != nil) {
				t.Errorf("the error of the commands is %v", err)
			}
			found := findingsOf(b, "repeated-object")
			if (c.code == "repeated-object") != (len(found) == 1) {
				t.Fatalf("found is %+v", found)
			}
			if len(found) == 1 {
				installtest.Same(t, "file", "manifests/1.yaml", found[0].File)
				installtest.Contains(t, found[0].What, "manifests/0.yaml also has an object")
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
	"manifests/many.yaml":          {Data: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n" + installtest.Numbered(300, "unknown%d: 1\n"))},
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
	found := lists.Map(report.Findings, func(f Finding) string { return f.Code + " " + f.File })
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
