package corpus

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// The form that the manager computes for a takeover is what OLM v0 made of each bundle: the pod template, after the defaults of
// the API server, and the hash of the Deployment's spec.
func TestBundlesHaveTheFormOfOLM(t *testing.T) {
	bundles, expected := os.Getenv("BUNDLES"), os.Getenv("EXPECTED")
	if bundles == "" || expected == "" {
		t.Skip("BUNDLES and EXPECTED are not set: no bundles to compare with OLM v0's results")
	}
	schema, compared := readCSVSchema(t), 0
	operators, err := filepath.Glob(filepath.Join(bundles, "*", "*", "manifests"))
	must(t, err)
	for _, manifests := range operators {
		recorded := filepath.Join(expected, operatorOf(manifests), "deployments.yaml")
		if _, err := os.Stat(recorded); os.IsNotExist(err) {
			continue // OLM v0 made nothing of it
		}
		b := readBundle(t, manifests)
		for _, object := range readObjects(t, recorded) {
			live := &appsv1.Deployment{}
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, live))
			t.Run(operatorOf(manifests)+"/"+live.Name, func(t *testing.T) { hasFormOfOLM(t, installedByOLM(t, b, schema, live), live) })
			compared++
		}
	}
	if compared == 0 {
		t.Errorf("no Deployment in %s", expected)
	}
}

func hasFormOfOLM(t *testing.T, csv *operatorsv1alpha1.ClusterServiceVersion, live *appsv1.Deployment) {
	t.Helper()
	specs := csvspec.Deployments(csv)
	spec := specs[slices.IndexFunc(specs, func(s operatorsv1alpha1.StrategyDeploymentSpec) bool { return s.Name == live.Name })]
	made := render.OLMDeployment(render.Input{CSV: csv}, spec, live.Spec.Template.Annotations[wellknown.AnnotationCAHash])
	if diff := cmp.Diff(live.Labels, made.Labels); diff != "" {
		t.Errorf("labels with the hash differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(live.Spec.Template.ObjectMeta, made.Spec.Template.ObjectMeta); diff != "" {
		t.Errorf("metadata of the pods differ (-want +got):\n%s", diff)
	}
	render.WriteOutListDefaults(&made.Spec.Template.Spec)
	if found := drift.Of(&appsv1.Deployment{Spec: made.Spec}, &appsv1.Deployment{Spec: live.Spec}); !found.None() {
		t.Errorf("the spec differs in %q", found.Fields)
	}
}

// installedByOLM returns the CSV as the API server stored it, with the annotations that olm-operator wrote.
func installedByOLM(t *testing.T, b bundle, schema *structuralschema.Structural, live *appsv1.Deployment) *operatorsv1alpha1.ClusterServiceVersion {
	t.Helper()
	stored := b.raw.DeepCopy()
	pruning.Prune(stored.Object, schema, true)
	defaulting.Default(stored.Object, schema)
	csv := &operatorsv1alpha1.ClusterServiceVersion{}
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, csv))
	csv.Namespace = live.Namespace
	recorded := live.Spec.Template.Annotations
	of := scope.Scope{
		Group:      &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: "og", Namespace: live.Namespace}},
		Namespaces: strings.Split(recorded[wellknown.AnnotationTargetNamespaces], ","),
	}
	csv.Annotations = with(csv.Annotations, of.Annotations())
	if at, written := recorded["createdAt"]; written {
		csv.Annotations["createdAt"] = at // YAML read some as times before OLM v0 got them
	}
	return csv
}

func readCSVSchema(t *testing.T) *structuralschema.Structural {
	t.Helper()
	text, err := os.ReadFile("../../manifests/crds/olm/operators.coreos.com_clusterserviceversions.yaml")
	must(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	must(t, yaml.Unmarshal(text, &crd))
	var internal apiextensions.JSONSchemaProps
	must(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil))
	schema, err := structuralschema.NewStructural(&internal)
	must(t, err)
	return schema
}
