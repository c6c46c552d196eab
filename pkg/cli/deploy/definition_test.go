package deploy

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// crd has versions, the first of which is stored.
func crd(versions ...string) *apiextensionsv1.CustomResourceDefinition {
	d := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "things.example.com"}}
	d.Spec.Group, d.Spec.Scope = "example.com", apiextensionsv1.NamespaceScoped
	for i, v := range versions {
		d.Spec.Versions = append(d.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: v, Served: true, Storage: i == 0})
	}
	return d
}

// live is a definition in a cluster, converted by a webhook if it has a caBundle.
func live(caBundle string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	d := crd(versions...)
	d.ResourceVersion, d.Labels = "7", map[string]string{"kept": "yes"}
	d.Status.StoredVersions = versions[:1]
	d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	if caBundle != "" {
		d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
			ClientConfig: &apiextensionsv1.WebhookClientConfig{CABundle: []byte(caBundle)},
		}}
	}
	return d
}

func converting() *operatorsv1alpha1.ClusterServiceVersion {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v2"}}
	csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{{
		Type: operatorsv1alpha1.ConversionWebhook, DeploymentName: "manager", ConversionCRDs: []string{"things.example.com"}, AdmissionReviewVersions: []string{"v1"},
	}}
	return csv
}

// described is what matters of a definition: its versions, the stored one with a star, those
// that are not served in brackets, and who converts.
func described(d *apiextensionsv1.CustomResourceDefinition) string {
	var versions []string
	for _, v := range d.Spec.Versions {
		if v.Storage {
			v.Name += "*"
		}
		if !v.Served {
			v.Name = "(" + v.Name + ")"
		}
		versions = append(versions, v.Name)
	}
	by := "none"
	if webhookConverts(d) {
		config := d.Spec.Conversion.Webhook.ClientConfig
		if s := config.Service; s != nil {
			by = s.Namespace + "/" + s.Name
		}
		if config.URL != nil {
			by = *config.URL
		}
		by += string(d.Spec.Conversion.Webhook.ClientConfig.CABundle)
	}
	return strings.Join(versions, " ") + " by " + by
}

// calling is a definition of a bundle that has a conversion webhook of its own.
func calling(config apiextensionsv1.WebhookClientConfig, versions ...string) *apiextensionsv1.CustomResourceDefinition {
	d := crd(versions...)
	d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{ClientConfig: &config}}
	return d
}

func TestOpening(t *testing.T) {
	byURL := apiextensionsv1.WebhookClientConfig{URL: new("https://evil.example.com")}
	byOther := apiextensionsv1.WebhookClientConfig{Service: &apiextensionsv1.ServiceReference{Namespace: "evil", Name: "evil"}, CABundle: []byte("CA")}
	unconverted := live("", "v1")
	unconverted.Spec.Conversion = nil
	plain := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v2"}}
	hidden := live("", "v1", "v2")
	hidden.Spec.Versions[1].Served = false
	for name, test := range map[string]struct {
		live, next               *apiextensionsv1.CustomResourceDefinition
		csv                      *operatorsv1alpha1.ClusterServiceVersion
		opened, serving, settled string
	}{
		"a first version":                            {nil, crd("v1"), converting(), "v1* by none", "v1* by none", "v1* by none"},
		"two versions at first":                      {nil, crd("v2", "v1"), converting(), "v2* v1 by shop/manager-service", "v2* v1 by shop/manager-service", "v2* v1 by none"},
		"declared, and a URL of the bundle":          {nil, calling(byURL, "v2", "v1"), converting(), "v2* v1 by shop/manager-service", "v2* v1 by shop/manager-service", "v2* v1 by none"},
		"declared, and another Service":              {nil, calling(byOther, "v2", "v1"), converting(), "v2* v1 by shop/manager-service", "v2* v1 by shop/manager-service", "v2* v1 by none"},
		"declared for one version, and a URL":        {nil, calling(byURL, "v1"), converting(), "v1* by none", "v1* by none", "v1* by none"},
		"declared, a URL, and no conversion yet":     {unconverted, calling(byURL, "v2", "v1"), converting(), "(v2) v1* by none", "v2 v1* by shop/manager-service", "v2* v1 by none"},
		"a URL that is not declared":                 {nil, calling(byURL, "v2", "v1"), plain, "v2* v1 by https://evil.example.com", "v2* v1 by https://evil.example.com", "v2* v1 by https://evil.example.com"},
		"two versions without conversion":            {nil, crd("v2", "v1"), plain, "v2* v1 by none", "v2* v1 by none", "v2* v1 by none"},
		"a version without conversion":               {live("", "v1"), crd("v2", "v1"), plain, "v2 v1* by none", "v2 v1* by none", "v2* v1 by none"},
		"a version that has to be converted":         {live("", "v1"), crd("v2", "v1"), converting(), "(v2) v1* by none", "v2 v1* by shop/manager-service", "v2* v1 by none"},
		"one that exists and is not served":          {hidden, crd("v2", "v1"), converting(), "(v2) v1* by none", "v2 v1* by shop/manager-service", "v2* v1 by none"},
		"a version more, with a conversion in place": {live("CA", "v1", "v0"), crd("v2", "v1", "v0"), converting(), "(v2) v1* v0 by noneCA", "v2 v1* v0 by noneCA", "v2* v1 v0 by noneCA"},
		"versions that were relabelled":              {live("", "v1", "v2"), crd("v2", "v1"), converting(), "v2 v1* by shop/manager-service", "v2 v1* by shop/manager-service", "v2* v1 by none"},
		"the stored version vanishes":                {live("", "v0"), crd("v1"), plain, "v1* by none", "v1* by none", "v1* by none"},
		"nothing new":                                {live("CA", "v2", "v1"), crd("v2", "v1"), converting(), "v2* v1 by noneCA", "v2* v1 by noneCA", "v2* v1 by noneCA"},
	} {
		t.Run(name, func(t *testing.T) {
			opened, serving, settled := Opening(test.live, test.next, test.csv), Serving(test.live, test.next, test.csv), Settled(test.live, test.next, test.csv)
			installtest.Same(t, "opened", test.opened, described(opened))
			installtest.Same(t, "serving", test.serving, described(serving))
			installtest.Same(t, "settled", test.settled, described(settled))
			if test.live != nil && (opened.ResourceVersion != "7" || opened.Labels["kept"] != "yes") {
				t.Errorf("what the cluster has is lost: %+v", opened.ObjectMeta)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	cluster := crd("v1")
	cluster.Spec.Scope = apiextensionsv1.ClusterScoped
	const migrate = "run `kubectl webhooks storage migrate things.example.com --to v2`"
	hidden, unlike := live("CA", "v1", "v2"), live("", "v1", "v2")
	hidden.Spec.Versions[1].Served = false
	unlike.Spec.Versions[1].Schema = &apiextensionsv1.CustomResourceValidation{}
	before := live("CA", "v2", "v1", "v0")
	before.Status.StoredVersions = []string{"v0", "v2"}
	trimmed, failed := live("CA", "v2", "v1"), live("CA", "v2", "v1")
	trimmed.Annotations = map[string]string{wellknown.AnnotationStoredVersions: "v1,v2"}
	failed.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.StorageMigrating, Status: apiextensionsv1.ConditionFalse}}
	for name, test := range map[string]struct {
		live, next *apiextensionsv1.CustomResourceDefinition
		want       []string
	}{
		"a migration is incomplete":             {trimmed, crd("v2"), []string{"version v1 vanishes, and objects may be stored in it, although status.storedVersions lacks it: no storage migration has been completed since a StorageVersionMigration: " + migrate}},
		"another client's migration failed":     {failed, crd("v2"), []string{"version v1 vanishes, and objects may be stored in it, although"}},
		"a first version":                       {nil, crd("v1"), nil},
		"a version more":                        {live("", "v1"), crd("v2", "v1"), nil},
		"a version less, that is not stored":    {live("", "v2", "v1"), crd("v2"), nil},
		"the stored version is removed":         {live("", "v1"), crd("v2"), []string{"version v1 vanishes, and status.storedVersions records that objects may be stored in it: upgrade first to a bundle that serves both v1 and v2 and converts between them, then " + migrate + ", then upgrade to this bundle"}},
		"it is removed where another is served": {live("CA", "v1", "v3", "v2"), crd("v2", "v3"), []string{"be stored in it: " + migrate + ", then"}},
		"another is served, and no more":        {live("CA", "v1", "v3"), crd("v2"), []string{"upgrade first to a bundle that serves both v1 and v2"}},
		"another exists, and is not served":     {hidden, crd("v2"), []string{"upgrade first to a bundle that serves both v1 and v2"}},
		"it is stored in no more":               {before, crd("v3", "v2", "v1"), []string{"version v0 vanishes, and status.storedVersions records that objects may be stored in it: " + migrate}},
		"no webhook would convert":              {unlike, crd("v2"), []string{"install the operator that brings its conversion webhook first, objects would lose fields; then " + migrate}},
		"another scope":                         {live("", "v1"), cluster, []string{"spec.scope cannot change"}},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.ContainsEach(t, Refusals(test.live, test.next), test.want)
		})
	}
}
