package doctor

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const dump = `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Namespace
  metadata: {name: shop}
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  metadata: {name: shop}
  webhooks:
  - name: a.example.com
    rules: [{operations: ["*"], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
    failurePolicy: Ignore
    timeoutSeconds: 3
    namespaceSelector: {}
    objectSelector: {}
  - name: b.example.com
    rules: [{operations: [DELETE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
    namespaceSelector: {}
    objectSelector: {}
`

const explainedText = `CREATE of configmaps (v1) shop/one by alice, groups system:authenticated

1. ValidatingWebhookConfiguration shop, webhook a.example.com: sees the request
   failurePolicy Ignore: without an answer the request continues after at most 3 s
1 step sees the request, 1 do not, 0 unknown, 0 not reached; --all shows the reasons
`

const mutated = `
apiVersion: v1
kind: List
items:
- apiVersion: v1
  kind: Namespace
  metadata: {name: shop}
- apiVersion: apiextensions.k8s.io/v1
  kind: CustomResourceDefinition
  metadata: {name: widgets.example.com}
  spec:
    group: example.com
    scope: Namespaced
    names: {plural: widgets, kind: Widget}
    conversion: {strategy: Webhook}
    versions: [{name: v1alpha1, served: true}, {name: v1, served: true, storage: true}]
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingWebhookConfiguration
  metadata: {name: shop}
  webhooks:
  - name: a.example.com
    rules: [{operations: ["*"], apiGroups: [example.com], apiVersions: [v1alpha1], resources: [widgets]}]
    reinvocationPolicy: IfNeeded
    namespaceSelector: {}
    objectSelector: {}
`

const mutatedText = `CREATE of widgets.example.com (example.com/v1alpha1) shop/one by alice, groups system:authenticated

1. MutatingWebhookConfiguration shop, webhook a.example.com: sees the request
   failurePolicy Fail: without an answer the request is refused after at most 10 s
   reinvocationPolicy IfNeeded: it can run again after a later step has changed the object
Conversion webhook of CustomResourceDefinition widgets.example.com: the API server calls it
   the request has version v1alpha1, and the API server stores version v1
   a conversion webhook has no failurePolicy: without an answer the request fails
1 step sees the request, 0 do not, 0 unknown, 0 not reached
`

// The command needs no cluster for dumps.
func TestExplainFromADump(t *testing.T) {
	for name, test := range map[string]struct{ dump, object, want string }{
		"validating": {dump, "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}", explainedText},
		"mutating":   {mutated, "{apiVersion: example.com/v1alpha1, kind: Widget, metadata: {name: one}}", mutatedText},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"dump.yaml": test.dump, "object.yaml": test.object} {
				installtest.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
			}
			cmd := newExplainCommand()
			var out bytes.Buffer
			cmd.SetOut(&out)
			cmd.SetArgs([]string{"-f", filepath.Join(dir, "object.yaml"), "--dump", filepath.Join(dir, "dump.yaml"), "-n", "shop", "--request-user", "alice"})
			installtest.Must(t, cmd.Execute())
			installtest.Same(t, "output", test.want, out.String())
		})
	}
}
