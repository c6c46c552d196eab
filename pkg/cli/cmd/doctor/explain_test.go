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

// The command needs no cluster for dumps.
func TestExplainFromADump(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"dump.yaml": dump, "object.yaml": "{apiVersion: v1, kind: ConfigMap, metadata: {name: one}}"}
	for name, text := range files {
		installtest.Must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	cmd := newExplainCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"-f", filepath.Join(dir, "object.yaml"), "--dump", filepath.Join(dir, "dump.yaml"), "-n", "shop", "--request-user", "alice"})
	installtest.Must(t, cmd.Execute())
	installtest.Same(t, "output", explainedText, out.String())
}
