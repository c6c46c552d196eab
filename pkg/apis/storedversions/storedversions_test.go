package storedversions

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestDescribe(t *testing.T) {
	for want, stored := range map[string][]string{"stored in v2": {"v2"}, "which may be stored in v1 or v2": {"v2", "v1"}} {
		crd := &apiextensionsv1.CustomResourceDefinition{
			Spec:   apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1"}, {Name: "v2"}}},
			Status: apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: stored},
		}
		installtest.Same(t, "description", want, Describe(crd))
	}
}

func TestPossible(t *testing.T) {
	condition := func(status apiextensionsv1.ConditionStatus, reason string) apiextensionsv1.CustomResourceDefinitionCondition {
		return apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.StorageMigrating, Status: status, Reason: reason}
	}
	established := apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}
	for name, test := range map[string]struct {
		stored     []string
		recorded   string
		conditions []apiextensionsv1.CustomResourceDefinitionCondition
		want       []string
	}{
		"only status.storedVersions":              {[]string{"v2"}, "", []apiextensionsv1.CustomResourceDefinitionCondition{established}, []string{"v2"}},
		"in the order of spec.versions":           {[]string{"v2", "v1"}, "", nil, []string{"v1", "v2"}},
		"trimmed while a migration is recorded":   {[]string{"v2"}, "v1,v2", nil, []string{"v1", "v2"}},
		"a version that spec.versions lacks":      {[]string{"v0", "v2"}, "", nil, []string{"v2", "v0"}},
		"a recorded one that spec.versions lacks": {[]string{"v2"}, "v0,v2", nil, []string{"v2", "v0"}},
		"a migration of another client failed":    {[]string{"v2"}, "", []apiextensionsv1.CustomResourceDefinitionCondition{condition("False", "MigrationFailed")}, []string{"v1", "v2", "v3"}},
		"a migration of another client succeeded, which may have skipped an object": {
			[]string{"v2"}, "", []apiextensionsv1.CustomResourceDefinitionCondition{condition("False", "MigrationSucceeded")}, []string{"v1", "v2", "v3"}},
		"a migration runs": {[]string{"v2"}, "", []apiextensionsv1.CustomResourceDefinitionCondition{condition("True", "MigrationRunning")}, []string{"v1", "v2", "v3"}},
	} {
		t.Run(name, func(t *testing.T) {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			for _, v := range []string{"v1", "v2", "v3"} {
				crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v})
			}
			crd.Annotations = map[string]string{wellknown.AnnotationStoredVersions: test.recorded}
			crd.Status.StoredVersions, crd.Status.Conditions = test.stored, test.conditions
			if got := Possible(crd); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
			installtest.Same(t, "only v2", len(test.want) == 1, Only(crd, "v2"))
		})
	}
}

// After a StorageVersionMigration of another client, v1 was removed from spec.versions.
func TestOnlyAfterAMigration(t *testing.T) {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v2"}}
	crd.Status.StoredVersions = []string{"v2"}
	for _, migrated := range []bool{false, true} {
		if migrated {
			crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.StorageMigrating, Status: apiextensionsv1.ConditionFalse}}
		}
		installtest.Same(t, "only v2", !migrated, Only(crd, "v2"))
	}
}

// All objects are read in the storage version; if that is not served, in the first one that is.
func TestReadable(t *testing.T) {
	crd := installtest.Definition("orders.shop.example.com")
	installtest.Same(t, "served", []string{"v1"}, Served(crd))
	installtest.Same(t, "the storage version", "v1", Readable(crd))
	crd.Spec.Versions[0].Served, crd.Spec.Versions[1].Served = true, false
	installtest.Same(t, "a served one", "v1alpha1", Readable(crd))
}
