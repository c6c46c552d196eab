package storage

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
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
	trimmed := definition("v2", converted("ca"), "v2")
	trimmed.Annotations = map[string]string{wellknown.AnnotationStoredVersions: "v1,v2"}
	failed := definition("v2", converted("ca"), "v2")
	failed.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.StorageMigrating, Status: apiextensionsv1.ConditionFalse, Reason: "MigrationFailed"}}
	removed := definition("v2", nil, "v2")
	removed.Spec.Versions, removed.Status.Conditions = removed.Spec.Versions[1:2], failed.Status.Conditions
	unread := removed.DeepCopy()
	unread.Annotations = map[string]string{wellknown.AnnotationStoredVersions: "v2"}
	noWebhook := definition("v2", nil, "v2")
	noWebhook.Status.Conditions = failed.Status.Conditions
	recorded := func(stored, versions string, storedVersions ...string) *apiextensionsv1.CustomResourceDefinition {
		crd := definition(stored, converted("ca"), storedVersions...)
		crd.Annotations = map[string]string{wellknown.AnnotationStoredVersions: versions}
		return crd
	}
	rewrote := func(generation int64) revision { return revision{"u", generation} }
	tests := map[string]struct {
		crd       *apiextensionsv1.CustomResourceDefinition
		to        string
		rewritten revision
		want      step
		err       string
	}{
		"stored in it alone":                   {definition("v2", nil, "v2"), "v2", revision{}, done, ""},
		"stored in both":                       {definition("v2", converted("ca"), "v1", "v2"), "v2", revision{}, record, ""},
		"stored in the other":                  {definition("v2", converted("ca"), "v1"), "v2", revision{}, record, ""},
		"written in the other":                 {definition("v2", converted("ca"), "v2"), "v1", revision{}, record, ""},
		"recorded, written in the other":       {recorded("v2", "v1,v2", "v2"), "v1", revision{}, setStorage, ""},
		"recorded without the version":         {recorded("v2", "v2", "v2"), "v1", revision{}, record, ""},
		"recorded":                             {recorded("v2", "v1,v2", "v1", "v2"), "v2", revision{}, rewrite, ""},
		"trimmed, and recorded":                {trimmed, "v2", revision{}, restore, ""},
		"removed after a migration":            {removed, "v2", revision{}, record, ""},
		"removed after a migration, recorded":  {unread, "v2", revision{}, rewrite, ""},
		"removed after a migration, rewritten": {unread, "v2", rewrote(1), trim, ""},
		"trimmed by a migration":               {failed, "v2", revision{}, record, ""},
		"the same, and no webhook":             {noWebhook, "v2", revision{}, "", "objects would lose fields"},
		"rewritten":                            {recorded("v2", "v1,v2", "v1", "v2"), "v2", rewrote(1), trim, ""},
		"rewritten, a migration ended":         {failed, "v2", rewrote(1), trim, ""},
		"rewritten under another spec":         {recorded("v2", "v1,v2", "v1", "v2"), "v2", rewrote(2), rewrite, ""},
		"rewritten and trimmed":                {trimmed, "v2", rewrote(1), complete, ""},
		"complete":                             {definition("v2", converted("ca"), "v2"), "v2", rewrote(1), done, ""},
		"interrupted before it completes":      {recorded("v2", "v2", "v2"), "v2", revision{}, rewrite, ""},
		"no such version":                      {definition("v2", converted("ca"), "v2"), "v9", revision{}, "", "name one of v1, v2, v3 with --to"},
		"not served":                           {definition("v2", converted("ca"), "v2"), "v3", revision{}, "", "does not serve version v3"},
		"webhook not in service":               {definition("v2", converted(""), "v1"), "v2", revision{}, "", "not in service yet"},
		"no webhook":                           {definition("v2", nil, "v1"), "v2", revision{}, "", "objects would lose fields"},
		"no webhook, same schema":              {alike, "v2", revision{}, record, ""},
		"stored in one that was removed":       {definition("v2", converted("ca"), "v0", "v2"), "v2", revision{}, "", "which is not in spec.versions"},
		"being deleted":                        {leaving, "v2", revision{}, "", "is being deleted"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := next(test.crd, test.to, test.rewritten)
			installtest.Same(t, "the next revision", test.want, got)
			installtest.Error(t, test.err, err)
		})
	}
}
