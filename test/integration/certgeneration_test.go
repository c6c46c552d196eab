package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Rotations continue after the highest number that an annotation can have, and the manager then rests.
func TestHighestCertificateGeneration(t *testing.T) {
	e := newOperatorEnv(t)
	m := runOperator(e)
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
