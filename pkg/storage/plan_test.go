package storage

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// definition has the versions v1, v2 and v3; v3 is not served.
func definition(stored string, conversion *apiextensionsv1.CustomResourceConversion, storedVersions ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "things.example.com", UID: "u", Generation: 1}}
	crd.Spec.Group, crd.Spec.Names.Kind, crd.Spec.Conversion = "example.com", "Thing", conversion
	for _, name := range []string{"v1", "v2", "v3"} {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{
			Name: name, Served: name != "v3", Storage: name == stored,
			Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Description: name}},
		})
	}
	crd.Status.StoredVersions = storedVersions
	return crd
}

func converted(caBundle string) *apiextensionsv1.CustomResourceConversion {
	return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig: &apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Name: "s"}, CABundle: []byte(caBundle)},
	}}
}

func TestNext(t *testing.T) {
	alike := definition("v2", nil, "v1", "v2")
	for i := range alike.Spec.Versions {
		alike.Spec.Versions[i].Schema = nil
	}
	leaving := definition("v2", converted("ca"), "v1")
	leaving.DeletionTimestamp = new(metav1.Now())
	tests := map[string]struct {
		crd  *apiextensionsv1.CustomResourceDefinition
		to   string
		want Step
		err  string
	}{
		"stored in it alone":             {definition("v2", nil, "v2"), "v2", Done, ""},
		"stored in both":                 {definition("v2", converted("ca"), "v1", "v2"), "v2", Rewrite, ""},
		"stored in the other":            {definition("v2", converted("ca"), "v1"), "v2", Rewrite, ""},
		"written in the other":           {definition("v2", converted("ca"), "v2"), "v1", MakeStorage, ""},
		"trimmed too early":              {definition("v2", converted("ca"), "v1"), "v1", MakeStorage, ""},
		"no such version":                {definition("v2", converted("ca"), "v2"), "v9", "", "name one of v1, v2, v3 with --to"},
		"not served":                     {definition("v2", converted("ca"), "v2"), "v3", "", "does not serve version v3"},
		"webhook not in service":         {definition("v2", converted(""), "v1"), "v2", "", "not in service yet"},
		"no webhook":                     {definition("v2", nil, "v1"), "v2", "", "objects would lose fields"},
		"no webhook, same schema":        {alike, "v2", Rewrite, ""},
		"stored in one that was removed": {definition("v2", converted("ca"), "v0", "v2"), "v2", "", "which is not in spec.versions"},
		"being deleted":                  {leaving, "v2", "", "is being deleted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Next(test.crd, test.to)
			if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got %q, %v; want %q, %q", got, err, test.want, test.err)
			}
		})
	}
}
