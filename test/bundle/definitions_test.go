package bundle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy/validation"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// schemas are those of versions, for spec, each of which refuses in another way.
var schemas = map[string]string{
	"anything":     `{type: object, x-kubernetes-preserve-unknown-fields: true}`,
	"minimum":      `{type: object, properties: {size: {type: integer, minimum: 1}}}`,
	"integer":      `{type: object, properties: {size: {type: integer}, name: {type: integer}}}`,
	"required":     `{type: object, required: [owner], properties: {owner: {type: string}}}`,
	"defaulted":    `{type: object, required: [owner], properties: {owner: {type: string, default: none}}}`,
	"onenulls":     `{type: object, properties: {name: {type: string}}}`,
	"enumerated":   `{type: object, properties: {name: {type: string, enum: [a, b]}}}`,
	"set":          `{type: object, properties: {tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}}}`,
	"map":          `{type: object, properties: {ports: {type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [port], items: {type: object, required: [port], properties: {port: {type: integer}}}}}}`,
	"embedded":     `{type: object, properties: {template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}}}`,
	"rule":         `{type: object, properties: {size: {type: integer}}, x-kubernetes-validations: [{rule: "!has(self.size) || self.size < 5", message: too large}]}`,
	"library":      `{type: object, properties: {name: {type: string}}, x-kubernetes-validations: [{rule: "!has(self.name) || isURL(self.name) || self.name.find('[a-z]') != ''"}]}`,
	"transition":   `{type: object, properties: {size: {type: integer}}, x-kubernetes-validations: [{rule: "self.size == oldSelf.size"}]}`,
	"defaultruled": `{type: object, properties: {size: {type: integer, default: 7}}, x-kubernetes-validations: [{rule: "self.size < 5"}]}`,
}

var specs = map[string]string{
	"empty": `{}`, "small": `{size: 0}`, "fit": `{size: 3, name: a}`, "large": `{size: 7, name: c}`, "nameless": `{name: null}`, "digits": `{name: "7"}`,
	"twice": `{tags: [a, a]}`, "once": `{tags: [a, b]}`, "ports": `{ports: [{port: 1}, {port: 1}]}`, "bare": `{template: {spec: {}}}`, "template": `{template: {apiVersion: v1, kind: Pod, metadata: {name: x}}}`,
}

// What an upgrade is refused for is what the API server refuses, and nothing else: every object under every schema.
func TestObjectsFitTheNextSchema(t *testing.T) {
	e := newEnv(t)
	crd := e.defineVersions(t, "fits", schemas)
	for name, spec := range specs {
		object := unstructured.Unstructured{Object: map[string]any{"apiVersion": crd.Spec.Group + "/anything", "kind": crd.Spec.Names.Kind, "metadata": map[string]any{"name": name}}}
		text := installtest.OrPanic(yaml.YAMLToJSON([]byte(spec)))
		var content map[string]any // with numbers as the API server's answers have them
		must(t, utiljson.Unmarshal(text, &content))
		object.Object["spec"] = content
		for version := range schemas {
			validator, err := validation.NewValidator(crd, deploy.Reading{Version: "anything", Fits: []string{version}})
			must(t, err)
			predicted := validator.Validate(t.Context(), []unstructured.Unstructured{object})
			resource := e.dynamic.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural})
			as := object.DeepCopy()
			as.SetAPIVersion(crd.Spec.Group + "/" + version)
			_, err = resource.Create(t.Context(), as, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err != nil && !apierrors.IsInvalid(err) {
				t.Errorf("%s as %s: %v", spec, version, err)
			}
			if (err != nil) != (len(predicted) > 0) {
				t.Errorf("%s as %s: the API server reports %v, predicted was %q", spec, version, err, predicted)
			}
		}
	}
}

// An upgrade reads objects in a served version, wherever they are stored, and names no more of them than it reads.
func TestDefinitionsAreChecked(t *testing.T) {
	e := newEnv(t)
	crd := e.defineVersions(t, "checks", map[string]string{"v1": schemas["anything"], "v2": schemas["anything"]}, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Served = false // the one that is stored
	})
	const count = 12
	for i := range count {
		must(t, e.create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": crd.Spec.Group + "/v2", "kind": crd.Spec.Names.Kind, "metadata": map[string]any{"name": fmt.Sprintf("large-%d", i)}, "spec": map[string]any{"size": int64(7)},
		}}, false))
	}
	c := newInstaller(t)
	removal := removalOf(t, c, installer.Installation{Bundle: bundleWith(t, crd), Manifests: manifestsOf(t, crd)}, false)
	installtest.Among(t, removal.Messages, fmt.Sprintf("CustomResourceDefinition %s stays, with %d objects, stored in v1", crd.Name, count))
	for name, test := range map[string]struct {
		schema   string
		messages int
		says     []string
	}{
		"a rule that all break": {schemas["rule"], 11, []string{"Check.bundle.example.com large-0: the next schema of version v2 refuses it", "too large", "change the object first", "2 more objects of checks.bundle.example.com like these"}},
		"nothing new":           {schemas["anything"], 0, nil},
		"a stored version less": {"", 1, []string{"version v1 vanishes, and status.storedVersions records that objects may be stored in it"}},
	} {
		t.Run(name, func(t *testing.T) {
			next := crd.DeepCopy()
			if test.schema == "" {
				next.Spec.Versions = next.Spec.Versions[1:]
				next.Spec.Versions[0].Storage = true
			} else {
				next.Spec.Versions[1].Schema = schemaOf(t, test.schema)
			}
			said := ""
			if err := c.CheckDefinitions(t.Context(), bundleWith(t, next)); err != nil {
				said = err.Error()
			}
			if lines := strings.Count(said+"\n", "\n"); test.messages > 0 && lines != test.messages || test.messages == 0 && said != "" {
				t.Errorf("%d lines, want %d:\n%s", lines, test.messages, said)
			}
			installtest.Contains(t, said, test.says...)
		})
	}
}

// defineVersions creates a definition with a version for each schema, in the order of their names,
// and waits until the ones that are served answer, and can be found: discovery comes last.
func (e *env) defineVersions(t *testing.T, plural string, schemas map[string]string, changes ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	const group = "bundle.example.com"
	singular := strings.TrimSuffix(plural, "s")
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{Group: group, Scope: apiextensionsv1.ClusterScoped, Names: apiextensionsv1.CustomResourceDefinitionNames{
			Plural: plural, Singular: singular, Kind: strings.ToUpper(singular[:1]) + singular[1:], ListKind: singular + "List",
		}},
	}
	crd.Spec.Versions = versionsOf(t, schemas)
	for _, change := range changes {
		change(crd)
	}
	client := installtest.OrPanic(apiextensions.NewForConfig(cluster.Config()))
	definitions := client.ApiextensionsV1().CustomResourceDefinitions()
	kube.CreateTemporary(t, definitions, crd)
	e.served(t, crd)
	return crd
}

// versionsOf are versions with these schemas, in the order of their names, all served, the first stored.
func versionsOf(t *testing.T, schemas map[string]string) []apiextensionsv1.CustomResourceDefinitionVersion {
	t.Helper()
	var versions []apiextensionsv1.CustomResourceDefinitionVersion
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		versions = append(versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true, Storage: len(versions) == 0, Schema: schemaOf(t, schemas[name])})
	}
	return versions
}

func (e *env) served(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		object := objectOf(schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}, "", "")
		e.eventually(t, crd.Name+" is served as "+version.Name, func() bool {
			resource, err := e.resource(object)
			if err == nil {
				_, err = resource.List(t.Context(), metav1.ListOptions{})
			}
			return err == nil
		})
	}
}

func schemaOf(t *testing.T, spec string) *apiextensionsv1.CustomResourceValidation {
	t.Helper()
	var s apiextensionsv1.JSONSchemaProps
	must(t, yaml.UnmarshalStrict([]byte(spec), &s))
	return &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": s}}}
}

func bundleWith(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) *bundle.Bundle {
	t.Helper()
	text := installtest.OrPanic(yaml.Marshal(crd))
	return opened(t, map[string]string{
		"manifests/crd.yaml":        string(text),
		"manifests/csv.yaml":        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata: {name: checks.v2}\nspec: {version: 2.0.0}\n",
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: checks}\n",
	})
}

func manifestsOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) []*unstructured.Unstructured {
	t.Helper()
	return []*unstructured.Unstructured{definition(t, crd), {Object: map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": map[string]any{"name": "checks.v2", "namespace": "checks"},
	}}}
}

// A client that deletes a definition deletes its objects in every namespace, independent of who installed the operator there.
func TestObjectsThatGoWithADefinition(t *testing.T) {
	e := newEnv(t)
	crd := e.defineVersions(t, "gauges", map[string]string{"v1": schemas["anything"]}, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	})
	for namespace, count := range map[string]int{"gauges-few": 1, "gauges-many": 3} {
		e.namespace(t, namespace)
		for i := range count {
			must(t, e.create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": crd.Spec.Group + "/v1", "kind": crd.Spec.Names.Kind,
				"metadata": map[string]any{"namespace": namespace, "name": fmt.Sprintf("gauge-%d", i)}, "spec": map[string]any{"size": int64(7)},
			}}, false))
		}
	}
	c := newInstaller(t)
	manifests := manifestsOf(t, crd)
	removal := removalOf(t, c, installer.Installation{Bundle: bundleWith(t, crd), Manifests: manifests, Adopted: []string{deploy.Reference(manifests[0])}}, true)
	installtest.Among(t, removal.Messages, fmt.Sprintf("CustomResourceDefinition %s is deleted, with 4 objects in namespaces: 3 in gauges-many, 1 in gauges-few", crd.Name))
}
