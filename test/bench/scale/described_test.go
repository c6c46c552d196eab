package scale

import (
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const (
	ownedKinds  = 3
	descriptors = 24 // of the spec of a kind, and of its status
)

// describe adds what consoles show of an operator of all namespaces: text, icon, examples, and the fields of its kinds.
// With these, the ClusterServiceVersion has tens of kilobytes, as published ones.
func describe(csv *operatorsv1alpha1.ClusterServiceVersion) {
	csv.Annotations = map[string]string{
		"alm-examples": prose(6 << 10), "capabilities": "Deep Insights", "categories": "Database", "containerImage": "example.com/server:1",
		"description": prose(200), "repository": "https://example.com/repository", "support": "example.com",
	}
	csv.Spec.InstallModes = append(csv.Spec.InstallModes, operatorsv1alpha1.InstallMode{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true})
	csv.Spec.DisplayName, csv.Spec.Description = "Operator", prose(12<<10)
	csv.Spec.Icon = []operatorsv1alpha1.Icon{{Data: base64Of([]byte(prose(7 << 10))), MediaType: "image/svg+xml"}}
	csv.Spec.CustomResourceDefinitions.Owned = installtest.Times(ownedKinds, func(i int) operatorsv1alpha1.CRDDescription {
		crd := definition(csv.Name, i)
		described := operatorsv1alpha1.CRDDescription{
			Name: crd.Name, Kind: crd.Spec.Names.Kind, Version: "v1", DisplayName: crd.Spec.Names.Kind, Description: prose(200),
		}
		for n := range descriptors {
			path, named := fmt.Sprintf("group%d.field%d", n/4, n), fmt.Sprintf("Field %d", n)
			control := []string{"urn:alm:descriptor:com.tectonic.ui:text"}
			described.SpecDescriptors = append(described.SpecDescriptors, operatorsv1alpha1.SpecDescriptor{Path: path, DisplayName: named, Description: prose(80), XDescriptors: control})
			described.StatusDescriptors = append(described.StatusDescriptors, operatorsv1alpha1.StatusDescriptor{Path: path, DisplayName: named, Description: prose(40), XDescriptors: control})
		}
		return described
	})
}

// definition returns a kind that an operator owns.
func definition(operator string, i int) *apiextensionsv1.CustomResourceDefinition {
	group, kind := operator+".example.com", fmt.Sprintf("Kind%d", i)
	plural := strings.ToLower(kind) + "s"
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)},
			}}},
		},
	}
}

func prose(bytes int) string {
	const sentence = "This operator creates databases, scales them and upgrades them without downtime. "
	return strings.Repeat(sentence, bytes/len(sentence)+1)[:bytes]
}

func sizeOf(csv *operatorsv1alpha1.ClusterServiceVersion) float64 {
	return float64(len(installtest.OrPanic(json.Marshal(csv))))
}
