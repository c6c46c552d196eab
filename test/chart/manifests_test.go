package chart

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The chart has the objects of the folders that an administrator would apply instead, except for the Namespace,
// which Helm requires before.
func TestObjectsOfManifests(t *testing.T) {
	const withoutCRDs = "crds: {create: false, olm: false}\n"
	for name, test := range map[string]struct {
		values  string
		folders []string
		limited []string // the namespaces of manifests/limited/namespace
	}{
		"the defaults":    {"", []string{"."}, nil},
		"with OLM's CRDs": {"crds: {olm: false}", []string{"crds", "manager"}, nil},
		"without CRDs":    {withoutCRDs, []string{"manager"}, nil},
		"some namespaces": {withoutCRDs + "namespaces: [shop]", []string{"limited"}, []string{"shop"}},
		"lift-roles":      {withoutCRDs + "liftRoles: true", []string{"lift-roles"}, nil},
		"with-olm":        {withoutCRDs + "withOLM: true", []string{"with-olm"}, nil},
		"monitoring":      {withoutCRDs + "monitoring: {enabled: true}", []string{"manager", "monitoring"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			want := built(t, "", test.folders...)
			for _, namespace := range test.limited {
				maps.Copy(want, built(t, namespace, "limited/namespace"))
			}
			delete(want, "Namespace "+managerNamespace)
			got := rendered(t, test.values)
			withoutPolicy(t, got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the chart has other objects than %v (-manifests +chart):\n%s", test.folders, diff)
			}
		})
	}
}

// withoutPolicy removes the annotation by which Helm keeps a CRD. Every CRD has it, and no other object.
func withoutPolicy(t *testing.T, all objects) {
	t.Helper()
	for name, object := range all {
		annotations, _ := at(object, "metadata/annotations").(map[string]any)
		policy, exists := annotations["helm.sh/resource-policy"]
		if isCRD := object["kind"] == "CustomResourceDefinition"; isCRD != exists || isCRD && policy != "keep" {
			t.Errorf("%s has the resource policy %v", name, policy)
		}
		delete(annotations, "helm.sh/resource-policy")
	}
}
