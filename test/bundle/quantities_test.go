package bundle

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// A quantity with a large exponent is not stored: each client that decodes it hangs, the manager too.
func TestQuantitiesThatHangClients(t *testing.T) {
	e := newEnv(t)
	e.namespace(t, testNamespace)
	const huge = "1.00000000000000000000000000000001e1000000000"
	for kind, form := range map[string]string{
		"ClusterServiceVersion": `{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: huge.v1}, spec: {displayName: Huge, install: {strategy: deployment, spec: {deployments:
  [{name: a, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, resources: {limits: {memory: QUANTITY}}}]}}}}]}}}}`,
		"Subscription": `{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: huge}, spec: {name: huge, source: a, sourceNamespace: a, config: {resources: {limits: {memory: QUANTITY}}}}}`,
	} {
		for quantity, stored := range map[string]bool{"512Mi": true, "1.5e9": true, "1e+9": true, "100m": true, huge: false, "1e999": false} {
			t.Run(kind+" "+quantity, func(t *testing.T) {
				object := &unstructured.Unstructured{}
				must(t, yaml.Unmarshal([]byte(strings.Replace(form, "QUANTITY", `"`+quantity+`"`, 1)), object))
				object.SetNamespace(testNamespace)
				if err := e.create(t.Context(), object, true); (err == nil) != stored {
					t.Errorf("the API server answers %v, and is to store it: %t", err, stored)
				}
			})
		}
	}
}
