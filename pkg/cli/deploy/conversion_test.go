package deploy

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// For each conversion that a definition has, that the bundle's definition has, and that the ClusterServiceVersion declares:
// how its objects are converted before the operator is installed and afterwards, and the messages.
func TestConversionOfAnExistingDefinition(t *testing.T) {
	by := func(service, caBundle string, versions ...string) *apiextensionsv1.CustomResourceDefinition {
		d := live(" "+caBundle, versions...)
		d.Spec.Conversion.Webhook.ClientConfig.CABundle = []byte(caBundle)
		d.Spec.Conversion.Webhook.ClientConfig.Service = &apiextensionsv1.ServiceReference{Namespace: "shop", Name: service}
		return d
	}
	none, absent := crd("v2", "v1"), crd("v2", "v1")
	none.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	undeclared, declared := &operatorsv1alpha1.ClusterServiceVersion{}, converting()
	for name, c := range map[string]struct {
		live, next      *apiextensionsv1.CustomResourceDefinition
		csv             *operatorsv1alpha1.ClusterServiceVersion
		opened, settled string
		takes           bool
		keeps           string
	}{
		"none, none":                        {live("", "v1"), none, undeclared, "v2 v1* by none", "v2* v1 by none", false, ""},
		"none, absent":                      {live("", "v1"), absent, undeclared, "v2 v1* by none", "v2* v1 by none", false, ""},
		"none, webhook":                     {live("", "v1"), by("own", "CA", "v2", "v1"), undeclared, "v2 v1* by shop/ownCA", "v2* v1 by shop/ownCA", false, ""},
		"none, none, declared":              {live("", "v1"), none, declared, "(v2) v1* by none", "v2* v1 by none", false, ""},
		"none, webhook, declared":           {live("", "v1"), by("own", "CA", "v2", "v1"), declared, "(v2) v1* by none", "v2* v1 by none", false, ""},
		"webhook, none":                     {by("theirs", "CA", "v1"), none, undeclared, "v2 v1* by shop/theirsCA", "v2* v1 by shop/theirsCA", false, "CustomResourceDefinition things.example.com keeps its conversion by Service shop/theirs, which the bundle does not have"},
		"webhook, absent":                   {by("theirs", "CA", "v1"), absent, undeclared, "v2 v1* by shop/theirsCA", "v2* v1 by shop/theirsCA", false, "CustomResourceDefinition things.example.com keeps its conversion by Service shop/theirs, which the bundle does not have"},
		"webhook, the same webhook":         {by("own", "injected", "v1"), by("own", "", "v2", "v1"), undeclared, "v2 v1* by shop/owninjected", "v2* v1 by shop/owninjected", false, ""},
		"webhook, the same with caBundle":   {by("own", "old", "v1"), by("own", "new", "v2", "v1"), undeclared, "v2 v1* by shop/ownold", "v2* v1 by shop/ownnew", false, ""},
		"webhook, another webhook":          {by("theirs", "CA", "v1"), by("own", "", "v2", "v1"), undeclared, "v2 v1* by shop/theirsCA", "v2* v1 by shop/own", true, ""},
		"webhook, none, declared":           {by("theirs", "CA", "v1"), none, declared, "(v2) v1* by shop/theirsCA", "v2* v1 by shop/theirsCA", false, ""},
		"webhook, another, and declared":    {by("theirs", "CA", "v1"), by("own", "", "v2", "v1"), declared, "(v2) v1* by shop/theirsCA", "v2* v1 by shop/theirsCA", false, ""},
		"a strategy without a clientConfig": {live("", "v1"), strategyOnly("v2", "v1"), undeclared, "v2 v1* by none", "v2* v1 by none", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "opened", c.opened, described(Opening(c.live, c.next, c.csv)))
			installtest.Same(t, "settled", c.settled, described(Settled(c.live, c.next, c.csv)))
			installtest.Same(t, "takes the conversion", c.takes, TakesConversion(c.live, c.next, c.csv))
			installtest.Same(t, "keeps the conversion", c.keeps, KeepsConversion(c.live, c.next, c.csv))
		})
	}
}

// strategyOnly is a definition that the API server refuses.
func strategyOnly(versions ...string) *apiextensionsv1.CustomResourceDefinition {
	d := crd(versions...)
	d.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter}
	return d
}
