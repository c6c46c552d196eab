package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A conversion trusts what its pods may serve at every moment, for each issuer. Each write of a definition makes the
// API server set up its storage again, so a rotation writes it twice only.
func TestConversionIsTrustedAllTheTime(t *testing.T) {
	e := newOperatorEnv(t)
	e.certManager()
	crd := newCRD(e, "gizmos", "v1", "v2").Name
	m := e.manage(untilTheCachesShow)
	c := converting("operator.v1", crd)
	c.Spec.WebhookDefinitions[0].GenerateName = "c.example.com"
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("v.example.com", "server"))
	e.install(c)
	first, trust := e.servingCA(), watchTrust(e, crd)
	writes := func(change func()) {
		t.Helper()
		since := auditEnd(e)
		change()
		m.looksAgain("operator.v1")
		n := installtest.Count(m.writes(since), func(write string) bool { return strings.Contains(write, "customresourcedefinitions") })
		same(t, "the number of writes of the definition in a rotation", n, 2)
	}
	writes(func() { e.order("once"); rotates(e, 2) })
	signingCA(e, "internal-ca", 1)
	issuer(e, "internal", map[string]any{"ca": map[string]any{"secretName": "internal-ca"}})
	writes(func() {
		choose(e, managerv1alpha1.ProviderCertManager, wellknown.AnnotationCertManagerIssuer, "Issuer/internal")
		provides(e, managerv1alpha1.ProviderCertManager)
	})

	carried := servingCertificate(e).Leaf
	choose(e, managerv1alpha1.ProviderNone, injectFrom, e.namespace+"/own")
	handsOff(e)
	ownCertificate(e, "own")
	e.eventually("the administrator's certificate exists, and his annotation on the definition", func() (bool, any) {
		definition := kube.Get(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), crd)
		return definition.Annotations[injectFrom] != "" && e.servingCA() != nil && !servingCertificate(e).Leaf.Equal(carried), definition.Annotations
	})

	choose(e, managerv1alpha1.ProviderManager)
	e.says("issues into Secret server-service-cert")
	e.must(e.any.Resource(issuers.Certificates).Namespace(e.namespace).Delete(e.ctx, "own", metav1.DeleteOptions{}))
	touch(e, "operator.v1")
	provides(e, managerv1alpha1.ProviderManager)
	trust.neverWithout(first, e.servingCA())
	e.uninstall("operator.v1")
}

// A caBundle that another client wrote is corrected, independent of the number that the annotation next to it has:
// that client may have written that, too, as a restored backup does.
func TestConversionWhoseGenerationIsEdited(t *testing.T) {
	for name, generation := range map[string]string{"a later one": "99", "one that there cannot be": "99999999999"} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			crd := newCRD(e, "widgets", "v1", "v2").Name
			e.manage()
			e.install(converting("operator.v1", crd))
			before, other := conversion(e, crd), e.authority("restored").pem()
			editCRD(e, crd, func(c *apiextensionsv1.CustomResourceDefinition) {
				c.Annotations[wellknown.AnnotationGeneration] = generation
				c.Spec.Conversion.Webhook.ClientConfig.CABundle = other
			})
			e.eventually("the definition trusts what its pods serve", func() (bool, any) {
				definition := e.crd(crd)
				return bytes.Equal(definition.Spec.Conversion.Webhook.ClientConfig.CABundle, before.Webhook.ClientConfig.CABundle) &&
					definition.Annotations[wellknown.AnnotationGeneration] == "1", definition.Annotations
			})
		})
	}
}

// Rotations continue after the highest number that an annotation can have, and the manager then rests.
func TestHighestCertificateGeneration(t *testing.T) {
	e, m := newRunningOperator(t)
	e.succeeds("operator.v1")
	before, trust := e.servingCA(), watchTrust(e)
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: "4294967295"}}}`, wellknown.AnnotationGeneration)
	kube.Patch(e, e.kube.CoreV1().Secrets(e.namespace), servingSecret, types.MergePatchType, patch)
	e.order("once")
	rotates(e, 2)
	trust.neverWithout(before, e.servingCA())
	m.settles("operator.v1")
}

// What a definition trusts is corrected even where the annotation next to it cannot be distinguished from
// one that the manager wrote.
func TestConversionWithTheManagersGeneration(t *testing.T) {
	for name, c := range map[string]struct {
		generation string
		options    metav1.PatchOptions
		clear      bool
	}{
		"a later one, as the manager":        {generation: "99", options: metav1.PatchOptions{FieldManager: wellknown.FieldManager}},
		"the highest one, as the manager":    {generation: "4294967295", options: metav1.PatchOptions{FieldManager: wellknown.FieldManager}},
		"a later one, and no field managers": {generation: "99", clear: true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			crd := newCRD(e, "widgets", "v1", "v2").Name
			m := e.manage()
			e.install(converting("operator.v1", crd))
			e.succeeds("operator.v1")
			patch := map[string]any{
				"metadata": map[string]any{"annotations": map[string]any{wellknown.AnnotationGeneration: c.generation}},
				"spec":     map[string]any{"conversion": map[string]any{"webhook": map[string]any{"clientConfig": map[string]any{"caBundle": e.authority("restored").pem()}}}},
			}
			if c.clear {
				patch["metadata"].(map[string]any)["managedFields"] = []any{map[string]any{}}
			}
			body, err := json.Marshal(patch)
			e.must(err)
			_, err = extensions(e).ApiextensionsV1().CustomResourceDefinitions().Patch(e.ctx, crd, types.MergePatchType, body, c.options)
			e.must(err)
			e.eventually("the definition trusts what its pods serve", func() (bool, any) {
				definition := e.crd(crd)
				return bytes.Equal(definition.Spec.Conversion.Webhook.ClientConfig.CABundle, e.servingCA()), definition.Annotations
			})
			m.settles("operator.v1")
		})
	}
}
