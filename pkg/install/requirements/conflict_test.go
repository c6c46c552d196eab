package requirements

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Of two operators in a namespace that own the same thing, one stays.
func TestOwnerConflict(t *testing.T) {
	const wayOut = ", too: delete one of the two, or, where one is a later version of the other, name that in spec.replaces"
	born := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	owning := func(name string, age time.Duration, crds, apis []string) *operatorsv1alpha1.ClusterServiceVersion {
		csv := installtest.Operator(nil)
		csv.Name, csv.CreationTimestamp = name, metav1.NewTime(born.Add(-age))
		for _, crd := range crds {
			csv.Spec.CustomResourceDefinitions.Owned = append(csv.Spec.CustomResourceDefinitions.Owned, operatorsv1alpha1.CRDDescription{Name: crd, Version: "v1"})
		}
		for _, group := range apis {
			csv.Spec.APIServiceDefinitions.Owned = append(csv.Spec.APIServiceDefinitions.Owned, operatorsv1alpha1.APIServiceDescription{Group: group, Version: "v1"})
		}
		return csv
	}
	names := func(names ...string) []string { return names }
	for name, test := range map[string]struct {
		began      bool
		crds, apis []string
		elder      bool // the other one
		begun      bool // the other one
		want       string
	}{
		"nothing in common":            {false, names("lakes.example.com"), names("lakes"), true, true, ""},
		"a definition of an older one": {false, names("ponds.example.com"), nil, true, false, "conflicting CRD owner in namespace: ClusterServiceVersion other owns ponds.example.com" + wayOut},
		"an API of an older one":       {false, nil, names("ponds"), true, false, "unable to adopt APIService: ClusterServiceVersion other owns v1.ponds" + wayOut},
		"of a younger one":             {false, names("ponds.example.com"), nil, false, false, ""},
		"of a younger installed one":   {false, names("ponds.example.com"), nil, false, true, "conflicting CRD owner in namespace: ClusterServiceVersion other owns ponds.example.com" + wayOut},
		"it is installed itself":       {true, names("ponds.example.com"), nil, true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			age := -time.Minute
			if test.elder {
				age = time.Minute
			}
			other := owning("other", age, names("ponds.example.com"), names("ponds"))
			verdict := Check(Facts{
				CSV: owning("shop.v1", 0, test.crds, test.apis), Began: test.began,
				Neighbours: []scope.Claimant{{CSV: other, Began: test.begun}},
			})
			installtest.Same(t, "conflict", test.want, verdict.Conflict)
			if test.want != "" && verdict.Passes() {
				t.Error("it passes")
			}
		})
	}
}
