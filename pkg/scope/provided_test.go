package scope

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

func TestProvidedAPIs(t *testing.T) {
	owning := func(change func(*operatorsv1alpha1.ClusterServiceVersion), crds ...string) *operatorsv1alpha1.ClusterServiceVersion {
		csv := &operatorsv1alpha1.ClusterServiceVersion{}
		csv.Status.Phase = operatorsv1alpha1.CSVPhasePending
		for _, name := range crds {
			csv.Spec.CustomResourceDefinitions.Owned = append(csv.Spec.CustomResourceDefinitions.Owned, operatorsv1alpha1.CRDDescription{Name: name, Version: "v1", Kind: "Pond"})
		}
		change(csv)
		return csv
	}
	as := func(*operatorsv1alpha1.ClusterServiceVersion) {}
	for name, test := range map[string]struct {
		csvs []*operatorsv1alpha1.ClusterServiceVersion
		want string
	}{
		"none":         {nil, ""},
		"owns nothing": {[]*operatorsv1alpha1.ClusterServiceVersion{owning(as)}, ""},
		"several of two operators, in order": {
			[]*operatorsv1alpha1.ClusterServiceVersion{owning(as, "ponds.z.example.com", "ponds.a.example.com"), owning(as, "ponds.a.example.com", "ponds.m.example.com")},
			"Pond.v1.a.example.com,Pond.v1.m.example.com,Pond.v1.z.example.com",
		},
		"an APIService": {
			[]*operatorsv1alpha1.ClusterServiceVersion{owning(func(csv *operatorsv1alpha1.ClusterServiceVersion) {
				csv.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{Group: "api.example.com", Version: "v2", Kind: "Lake"}}
			})},
			"Lake.v2.api.example.com",
		},
		"a copy": {
			[]*operatorsv1alpha1.ClusterServiceVersion{owning(func(csv *operatorsv1alpha1.ClusterServiceVersion) {
				csv.Labels = map[string]string{operatorsv1alpha1.CopiedLabelKey: "elsewhere"}
			}, "ponds.a.example.com")},
			"",
		},
		"one that may not provide it": {
			[]*operatorsv1alpha1.ClusterServiceVersion{owning(func(csv *operatorsv1alpha1.ClusterServiceVersion) {
				csv.Status.Phase, csv.Status.Reason = operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict
			}, "ponds.a.example.com"), owning(as, "ponds.b.example.com")},
			"Pond.v1.b.example.com",
		},
		"one that may again": {
			[]*operatorsv1alpha1.ClusterServiceVersion{owning(func(csv *operatorsv1alpha1.ClusterServiceVersion) {
				csv.Status.Phase, csv.Status.Reason = operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsUnknown
			}, "ponds.a.example.com")},
			"Pond.v1.a.example.com",
		},
		"one that is being deleted": {
			[]*operatorsv1alpha1.ClusterServiceVersion{owning(func(csv *operatorsv1alpha1.ClusterServiceVersion) {
				csv.DeletionTimestamp = &metav1.Time{Time: noon}
			}, "ponds.a.example.com")},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "provided APIs", test.want, ProvidedAPIs(groupOf("a"), test.csvs))
		})
	}
}

// Whether an operator conflicts with another group is decided with its first phase.
func TestProvidedAPIsOfANewOperator(t *testing.T) {
	operator := &operatorsv1alpha1.ClusterServiceVersion{}
	operator.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{
		{Name: "ponds.a.example.com", Version: "v1", Kind: "Pond"}, {Name: "ponds.b.example.com", Version: "v1", Kind: "Pond"},
	}
	csvs := []*operatorsv1alpha1.ClusterServiceVersion{operator}
	group := groupOf("a")
	same(t, "APIs that it adds", "", ProvidedAPIs(group, csvs))
	group.Annotations = map[string]string{"olm.providedAPIs": "Pond.v1.b.example.com,Lake.v1.c.example.com"}
	same(t, "APIs that it keeps", "Pond.v1.b.example.com", ProvidedAPIs(group, csvs))
	same(t, "kinds of its own", 0, len(ProvidedBy([]Claimant{{CSV: operator}})))
}

func TestProvidedAPIsDiffer(t *testing.T) {
	annotated := func(text string) func(*operatorsv1.OperatorGroup) {
		return func(group *operatorsv1.OperatorGroup) {
			group.Annotations = map[string]string{"olm.providedAPIs": text}
		}
	}
	for name, test := range map[string]struct {
		group    *operatorsv1.OperatorGroup
		provided string
		want     bool
	}{
		"none, and none written": {groupOf("a"), "", false},
		"none written":           {groupOf("a"), "A.v1.g", true},
		"as written":             {groupOf("a", annotated("A.v1.g")), "A.v1.g", false},
		"none any more":          {groupOf("a", annotated("A.v1.g")), "", true},
		"static":                 {groupOf("a", static("B.v1.g")), "A.v1.g", false},
		"being deleted":          {groupOf("a", deleted), "A.v1.g", false},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, "differ", test.want, ProvidedAPIsDiffer(test.group, test.provided))
		})
	}
}
