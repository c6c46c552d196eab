package bundle

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const webhookText = `  webhookdefinitions:
  - type: ValidatingAdmissionWebhook
    generateName: pods.shop.example.com
    deploymentName: shop
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Ignore
    timeoutSeconds: 1
    objectSelector: {matchLabels: {shop.example.com/opted-in: "true"}}
    rules:
    - {apiGroups: [""], apiVersions: [v1], resources: [pods], operations: [CREATE]}
`

// A key that reads as the path of another field removes that key alone.
func TestUnknownFieldsAreRemovedByKey(t *testing.T) {
	const role = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: reader}\nrules:\n- {apiGroups: [''], resources: [secrets], verbs: [get], resourceNames: [shop]}\n"
	for name, c := range map[string]struct{ csv, role string }{
		"nothing unknown":            {csvText + webhookText, role},
		"a path as a key":            {"spec.webhookdefinitions[0].objectSelector:\nspec.webhookdefinitions[0].failurePolicy:\n" + csvText + webhookText, "rules[0].resourceNames: x\n" + role},
		"a path in brackets":         {"\"[spec][webhookdefinitions][0][objectSelector]\": x\n" + csvText + webhookText, "\"[rules][0][resourceNames]\": x\n" + role},
		"a path within a mapping":    {csvText + webhookText + "  webhookdefinitions[0].timeoutSeconds: 2\n", role + "rules[0]: {}\n"},
		"a path within the metadata": {strings.Replace(csvText, "  name: shop.v1.0.0\n", "  name: shop.v1.0.0\n  name.x: y\n", 1) + webhookText, role},
	} {
		t.Run(name, func(t *testing.T) {
			b := InspectFS(files(map[string]string{"manifests/csv.yaml": c.csv, "manifests/role.yaml": c.role}), "test")
			manifests := installtest.OrPanic(Manifests(b, Options{}))
			csv := manifests[len(manifests)-1]
			want := InspectFS(files(map[string]string{"manifests/csv.yaml": csvText + webhookText}), "test").CSVObject.Object["spec"]
			installtest.Same(t, "fields at the top level", 4, len(csv.Object))
			installtest.Same(t, "spec", want, csv.Object["spec"])
			installtest.Same(t, "fields of the role", 4, len(manifests[1].Object))
			installtest.Contains(t, fmt.Sprint(manifests[1].Object["rules"]), "resourceNames:[shop]")
			typedIsApplied(t, b)
		})
	}
}

// However many fields are unknown, none is applied.
func TestEveryUnknownFieldIsRemoved(t *testing.T) {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	for i := range 150 {
		text += fmt.Sprintf("unknown%d: 1\n", i)
	}
	b := InspectFS(files(map[string]string{"manifests/a.yaml": text}), "test")
	installtest.Same(t, "fields of the object", 3, len(b.Objects[0].Object))
	installtest.Same(t, "problems", 150, len(b.Problems))
}

func TestMisspelledFieldsAreSuggested(t *testing.T) {
	for key, want := range map[string]string{
		"failurePolcy": "write failurePolicy, or remove it", "FailurePolicy": "write failurePolicy, or remove it",
		"objectselector": "write objectSelector, or remove it", "namespaceSelectr": "correct or remove it", "x": "correct or remove it",
	} {
		b := InspectFS(files(map[string]string{"manifests/csv.yaml": csvText + webhookText + "    " + key + ": {}\n"}), "test")
		if len(b.Problems) != 1 || b.Problems[0].Remedy != want || b.Problems[0].Path != "spec.webhookdefinitions[0]."+key || b.Problems[0].Line != 24 {
			t.Errorf("%s: got %v, want %q", key, b.Problems, want)
		}
	}
}

// typedIsApplied compares each object that was decoded with the object that is applied.
func typedIsApplied(t *testing.T, b *Bundle) {
	t.Helper()
	for _, o := range b.Objects {
		if o.Typed == nil {
			continue
		}
		applied := reflect.New(reflect.TypeOf(o.Typed).Elem()).Interface()
		content := o.DeepCopy().Object
		dropNulls(content)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, applied, true); err != nil {
			t.Errorf("%s: %v", o.GetName(), err)
		}
		installtest.Same(t, o.GetKind()+" "+o.GetName(), o.Typed, applied)
	}
}

// What an author cannot know of a cluster is not applied, for any kind of the object.
func TestMetadataOfAClusterIsRemoved(t *testing.T) {
	const metadata = "metadata: {name: a, labels: {a: b}, annotations: {c: d}, creationTimestamp: null, generateName: null, finalizers: [x.example.com/y], generation: 3, ownerReferences: [{apiVersion: v1, kind: Node, name: gone, uid: x}], resourceVersion: '7', uid: x}\n"
	for name, kind := range map[string]string{
		"known":   "apiVersion: v1\nkind: ConfigMap\n",
		"unknown": "apiVersion: shop.example.com/v1\nkind: Till\n",
	} {
		t.Run(name, func(t *testing.T) {
			b := InspectFS(files(map[string]string{"manifests/csv.yaml": csvText, "manifests/a.yaml": kind + metadata}), "test")
			unknown := lists.Filter(b.Problems, func(p Problem) bool { return p.Kind == UnknownField })
			dropped := lists.Map(unknown, func(p Problem) string { return p.Path })
			installtest.Same(t, "reported", []string{"metadata.finalizers", "metadata.generation", "metadata.ownerReferences", "metadata.resourceVersion", "metadata.uid"}, dropped)
			manifests := installtest.OrPanic(Manifests(b, Options{AllowKinds: b.KindsToAllow(), Namespace: "shop"}))
			want := map[string]any{"name": "a", "namespace": "shop", "labels": map[string]any{"a": "b"}, "annotations": map[string]any{"c": "d"}}
			for _, o := range manifests {
				if o.GetName() == "a" {
					installtest.Same(t, "applied", any(want), o.Object["metadata"])
				}
			}
		})
	}
}

// Labels and annotations that administrators and the manager set are not taken from a bundle: with them a bundle
// could have a conversion ended that objects need, or replace the record of a storage migration.
func TestInstructionsAreRemoved(t *testing.T) {
	const instructions = `{olm-webhook-manager.io/force-conversion-removal: "true", olm-webhook-manager.io/stored-versions: v2,
    olm-webhook-manager.io/installation: other/other, olm-webhook-manager.io/match-conditions: "{}", olm-webhook-manager.io/probe: handshake, example.com/mine: a}`
	for name, c := range map[string]struct {
		object string
		kept   []string
	}{
		"a ClusterServiceVersion": {"apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nspec: {}\n",
			[]string{"example.com/mine", "olm-webhook-manager.io/match-conditions", "olm-webhook-manager.io/probe"}},
		"a definition":         {"apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n", []string{"example.com/mine"}},
		"an object of no type": {"apiVersion: shop.example.com/v1\nkind: Till\n", []string{"example.com/mine"}},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.object + "metadata:\n  name: a\n  labels: {olm-webhook-manager.io/aggregate-to-limited: \"true\", example.com/mine: a}\n  annotations: " + instructions + "\n"
			b := InspectFS(files(map[string]string{"manifests/csv.yaml": csvText, "manifests/a.yaml": text}), "test")
			at := slices.IndexFunc(b.Objects, func(o *Object) bool { return o.File == "manifests/a.yaml" })
			if at < 0 {
				t.Fatal(b.Problems)
			}
			o := b.Objects[at]
			installtest.Same(t, "annotations", c.kept, slices.Sorted(maps.Keys(o.GetAnnotations())))
			installtest.Same(t, "labels", map[string]string{"example.com/mine": "a"}, o.GetLabels())
			if csv, ok := o.Typed.(*operatorsv1alpha1.ClusterServiceVersion); ok && csv.Annotations[wellknown.AnnotationForceConversion] != "" {
				t.Error("the typed object has an annotation that is not applied")
			}
			for _, path := range []string{"metadata.annotations[olm-webhook-manager.io/force-conversion-removal]", "metadata.annotations[olm-webhook-manager.io/stored-versions]", "metadata.labels[olm-webhook-manager.io/aggregate-to-limited]"} {
				if !slices.ContainsFunc(b.Problems, func(p Problem) bool { return p.Kind == UnknownField && p.Path == path && p.Line > 0 }) {
					t.Errorf("%s is not reported: %v", path, b.Problems)
				}
			}
		})
	}
}

// With these a ClusterServiceVersion looks like a copy of one in another namespace: no manager would install it.
func TestCSVIsNoCopy(t *testing.T) {
	for _, test := range []struct{ field, key string }{
		{"labels", "olm.copiedFrom"},
		{"annotations", "olm.operatorNamespace"},
		{"annotations", "olm.operatorGroup"},
		{"annotations", "olm.targetNamespaces"},
	} {
		t.Run(test.key, func(t *testing.T) {
			text := strings.Replace(csvText, "metadata:\n", fmt.Sprintf("metadata:\n  %s: {%s: elsewhere, example.com/mine: a}\n", test.field, test.key), 1)
			b := InspectFS(files(map[string]string{"manifests/csv.yaml": text}), "test")
			csv, ok := b.Objects[0].Typed.(*operatorsv1alpha1.ClusterServiceVersion)
			if !ok {
				t.Fatal(b.Problems)
			}
			pairs := map[string]map[string]string{"labels": csv.Labels, "annotations": csv.Annotations}[test.field]
			installtest.Same(t, "it is a copy", false, csv.IsCopied())
			installtest.Same(t, test.field, map[string]string{"example.com/mine": "a"}, pairs)
			path := fmt.Sprintf("metadata.%s[%s]", test.field, test.key)
			if !slices.ContainsFunc(b.Problems, func(p Problem) bool { return p.Kind == UnknownField && p.Path == path && p.Line > 0 }) {
				t.Errorf("%s is not reported: %v", path, b.Problems)
			}
		})
	}
}
