package requirements

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRequiredCRDs(t *testing.T) {
	const there = "Present: CRD is present and Established condition is true"
	for name, test := range map[string]struct {
		owned, required []operatorsv1alpha1.CRDDescription
		crds            []*apiextensionsv1.CustomResourceDefinition
		want            []string
	}{
		"none": {},
		"owned, present": {
			owned: describing("a.example.com", "v1"), crds: definitions(installtest.Definition("a.example.com")),
			want: []string{"a.example.com " + there},
		},
		"owned, absent": {
			owned: describing("a.example.com", "v1"), crds: definitions(installtest.Definition("b.example.com")),
			want: []string{"a.example.com NotPresent: CRD is not present"},
		},
		"required, absent": {required: describing("a.example.com", "v1"), want: []string{"a.example.com NotPresent: CRD is not present"}},
		"another version": {
			required: describing("a.example.com", "v2"), crds: definitions(installtest.Definition("a.example.com")),
			want: []string{"a.example.com NotPresent: CRD version not served: the ClusterServiceVersion names v2, served are v1"},
		},
		"a version that is not served any more": {
			required: describing("a.example.com", "v1alpha1"), crds: definitions(installtest.Definition("a.example.com")),
			want: []string{"a.example.com NotPresent: CRD version not served: the ClusterServiceVersion names v1alpha1, served are v1"},
		},
		"not established": {
			owned: describing("a.example.com", "v1"), crds: definitions(installtest.Definition("a.example.com", without(apiextensionsv1.Established))),
			want: []string{"a.example.com PresentNotAvailable: CRD is present but the Established condition is False (not available): Established: not yet"},
		},
		"names not accepted": {
			owned: describing("a.example.com", "v1"), crds: definitions(installtest.Definition("a.example.com", without(apiextensionsv1.NamesAccepted))),
			want: []string{"a.example.com PresentNotAvailable: CRD is present but the Established condition is False (not available): NamesAccepted: not yet"},
		},
		"two versions of one, owned and required, in order": {
			owned: describing("b.example.com", "v1", "a.example.com", "v2"), required: describing("a.example.com", "v1", "a.example.com", "v2"),
			crds: definitions(installtest.Definition("a.example.com"), installtest.Definition("b.example.com")),
			want: []string{
				"a.example.com " + there,
				"a.example.com NotPresent: CRD version not served: the ClusterServiceVersion names v2, served are v1",
				"b.example.com " + there,
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil)
			csv.Spec.CustomResourceDefinitions = operatorsv1alpha1.CustomResourceDefinitions{Owned: test.owned, Required: test.required}
			facts := Facts{CSV: csv, CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{}}
			for _, crd := range test.crds {
				facts.CRDs[crd.Name] = crd
			}
			var got []string
			for _, r := range Check(facts).Requirements {
				installtest.Same(t, "group, version and kind", []string{"apiextensions.k8s.io", "v1", "CustomResourceDefinition"}, []string{r.Group, r.Version, r.Kind})
				if known := facts.CRDs[r.Name]; r.Status == "Present" && r.UUID != string(known.UID) {
					t.Errorf("the uuid of %s is %q", r.Name, r.UUID)
				}
				got = append(got, r.Name+" "+string(r.Status)+": "+r.Message)
			}
			installtest.Same(t, "requirements", test.want, got)
		})
	}
}

func TestRequiredCRDNames(t *testing.T) {
	csv := convertingCSV()
	csv.Spec.CustomResourceDefinitions.Required = describing("z.example.com", "v1")
	installtest.Same(t, "the definitions", []string{"a.example.com", "b.example.com", "z.example.com"}, csvspec.RequiredCRDs(csv))
}

func describing(nameVersion ...string) []operatorsv1alpha1.CRDDescription {
	return lists.Map(slices.Collect(slices.Chunk(nameVersion, 2)), func(pair []string) operatorsv1alpha1.CRDDescription {
		return operatorsv1alpha1.CRDDescription{Name: pair[0], Version: pair[1]}
	})
}

func definitions(crds ...*apiextensionsv1.CustomResourceDefinition) []*apiextensionsv1.CustomResourceDefinition {
	return crds
}

func without(kind apiextensionsv1.CustomResourceDefinitionConditionType) func(*apiextensionsv1.CustomResourceDefinition) {
	return func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Status.Conditions = slices.DeleteFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool { return c.Type == kind })
	}
}

// Who shows where a version stands needs the results in the order of the list.
func TestOwnedCRDs(t *testing.T) {
	csv := installtest.Operator(nil)
	csv.Spec.CustomResourceDefinitions.Owned = describing("b.example.com", "v1", "a.example.com", "v2", "a.example.com", "v1", "a.example.com", "v2")
	facts := Facts{CSV: csv, CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{"a.example.com": installtest.Definition("a.example.com")}}
	got := lists.Map(CRDs(facts, facts.CSV.Spec.CustomResourceDefinitions.Owned), func(r operatorsv1alpha1.RequirementStatus) string {
		return Verdict{Requirements: []operatorsv1alpha1.RequirementStatus{r}}.Unmet()
	})
	const unserved = "CustomResourceDefinition a.example.com: CRD version not served: the ClusterServiceVersion names v2, served are v1"
	installtest.Same(t, "unmet", []string{"CustomResourceDefinition b.example.com: CRD is not present", unserved, "", unserved}, got)
}

// A version that is not served is a lack, unless it was promised, and may be waited for.
func TestAwaitedVersions(t *testing.T) {
	const promised, unmet = "a.example.com/v2", "CustomResourceDefinition a.example.com: CRD version not served: the ClusterServiceVersion names v2, served are v1"
	for name, test := range map[string]struct {
		annotation, converts string
		definition           *apiextensionsv1.CustomResourceDefinition
		want                 []string
		unmet                string
	}{
		"promised":                {promised, "a.example.com", installtest.Definition("a.example.com"), []string{promised}, ""},
		"promised among others":   {"b.example.com/v2," + promised, "a.example.com", installtest.Definition("a.example.com"), []string{promised}, ""},
		"not promised":            {"", "a.example.com", installtest.Definition("a.example.com"), nil, unmet},
		"another one promised":    {"a.example.com/v3", "a.example.com", installtest.Definition("a.example.com"), nil, unmet},
		"no webhook will convert": {promised, "b.example.com", installtest.Definition("a.example.com"), nil, unmet},
		"promised, and no object": {promised, "a.example.com", nil, nil, "CustomResourceDefinition a.example.com: CRD is not present"},
		"promised, and there": {promised, "a.example.com", installtest.Definition("a.example.com", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2", Served: true})
		}), nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil, operatorsv1alpha1.WebhookDescription{Type: operatorsv1alpha1.ConversionWebhook, ConversionCRDs: []string{test.converts}})
			csv.Annotations = map[string]string{wellknown.AnnotationAwaitedVersions: test.annotation}
			csv.Spec.CustomResourceDefinitions.Owned = describing("a.example.com", "v2")
			facts := Facts{CSV: csv, CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{}}
			if test.definition != nil {
				facts.CRDs["a.example.com"] = test.definition
			}
			verdict := Verdict{Requirements: CRDs(facts, csvspec.CRDDescriptions(facts.CSV)), Awaited: versionsThatAre(announced, facts)}
			installtest.Same(t, "awaited", test.want, verdict.Awaited)
			installtest.Same(t, "unmet", test.unmet, verdict.Unmet())
		})
	}
}

// A version that the policy for definitions holds is no lack for the operator that owns it.
func TestHeldVersions(t *testing.T) {
	const version, unmet = "a.example.com/v2", "CustomResourceDefinition a.example.com: CRD version not served: the ClusterServiceVersion names v2, served are v1"
	holding := func(versions string) *apiextensionsv1.CustomResourceDefinition {
		return installtest.Definition("a.example.com", func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Annotations = map[string]string{wellknown.AnnotationHeldVersions: versions}
			crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2"})
		})
	}
	for name, test := range map[string]struct {
		definition      *apiextensionsv1.CustomResourceDefinition
		owned, required []operatorsv1alpha1.CRDDescription
		want            []string
		unmet           string
	}{
		"held":                              {holding("v2"), describing("a.example.com", "v2"), nil, []string{version}, ""},
		"held, and there is no definition":  {nil, describing("a.example.com", "v2"), nil, nil, "CustomResourceDefinition a.example.com: CRD is not present"},
		"not served":                        {holding(""), describing("a.example.com", "v2"), nil, nil, unmet},
		"another version is held":           {holding("v3"), describing("a.example.com", "v2"), nil, nil, unmet},
		"held, and required":                {holding("v2"), nil, describing("a.example.com", "v2"), nil, unmet},
		"held, and the definition is owned": {holding("v2"), describing("a.example.com", "v1"), describing("a.example.com", "v2"), []string{version}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil)
			csv.Spec.CustomResourceDefinitions = operatorsv1alpha1.CustomResourceDefinitions{Owned: test.owned, Required: test.required}
			facts := Facts{CSV: csv, CRDs: map[string]*apiextensionsv1.CustomResourceDefinition{}}
			if test.definition != nil {
				facts.CRDs["a.example.com"] = test.definition
			}
			verdict := Verdict{Requirements: CRDs(facts, csvspec.CRDDescriptions(facts.CSV)), Held: versionsThatAre(held, facts)}
			installtest.Same(t, "held", test.want, verdict.Held)
			installtest.Same(t, "unmet", test.unmet, verdict.Unmet())
		})
	}
}
