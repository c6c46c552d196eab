package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/internal/need"
)

// FuzzValidate runs the steps of the commands on arbitrary files of a bundle. Nothing
// of it may panic, what is found in a file names a line of it and the way out, and what can be
// installed is rendered, or the reason why not is returned.
func FuzzValidate(f *testing.F) {
	// Small ones: whole examples would keep the fuzzer busy with their prose.
	for _, text := range []string{
		smallCSV, smallCSV + smallDefinition, smallCSV + smallObjects, "a: b\n---\n", "- \"\\u0000\"", "a: *a", "? {a: b}\n: c\n",
		"a: &a [x, x, x, x]\nb: &b [*a, *a, *a, *a]\nc: [*b, *b, *b, *b]\n",
	} {
		f.Add([]byte(text), []byte(smallAnnotations))
	}
	for _, annotations := range []string{
		"", "annotations:\n", "annotations: {a: 1, b: true, c: null}\n", "annotation: {a: b}\n", "annotations: [a]\n", "annotations: {a: b, a: c}\n", "---\nannotations: {}\n---\na: b\n",
		"annotations: {operators.operatorframework.io.bundle.manifests.v1: ../a/, operators.operatorframework.io.bundle.chanels.v1: b}\n",
	} {
		f.Add([]byte(smallCSV), []byte(annotations))
	}
	all(f, bundle.InspectFS(fstest.MapFS{"manifests/a.yaml": {Data: []byte(smallCSV + smallDefinition)}}, "warm")) // Schemas and environments are created once.
	f.Fuzz(func(t *testing.T, text, annotations []byte) {
		if len(text)+len(annotations) > need.MaxInput {
			return
		}
		files := fstest.MapFS{"manifests/a.yaml": {Data: text}, "metadata/annotations.yaml": {Data: annotations}}
		var b *bundle.Bundle
		var report Report
		need.Limited(t, func() {
			b = bundle.InspectFS(files, "fuzz")
			report = all(t, b)
		})
		for _, found := range report.Findings {
			if files[found.File] != nil && found.Code != string(bundle.TooBig) && found.Line < 1 {
				t.Errorf("%s has no line: %s", found.Code, found.What)
			}
		}
		mustNameARemedy(t, report)
		if b.Err() == nil && b.CSV == nil {
			t.Fatal("nothing is wrong, and there is no ClusterServiceVersion")
		}
	})
}

const smallAnnotations = `annotations:
  operators.operatorframework.io.bundle.mediatype.v1: registry+v1
  operators.operatorframework.io.bundle.manifests.v1: manifests/
  operators.operatorframework.io.bundle.metadata.v1: metadata/
  operators.operatorframework.io.bundle.package.v1: shop
  operators.operatorframework.io.bundle.channels.v1: alpha,stable
  operators.operatorframework.io.bundle.channel.default.v1: stable
`

const smallCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: shop.v1.0.0
  annotations: {alm-examples: "[]", olm-webhook-manager.io/match-conditions: '{"a.example.com": [{"name": "a", "expression": "true"}]}'}
spec:
  displayName: Shop
  version: 1.0.0
  installModes: [{type: AllNamespaces, supported: true}]
  customresourcedefinitions: {owned: [{name: goods.shop.example.com, version: v1, kind: Good}]}
  apiservicedefinitions: {owned: [{name: shops, group: api.example.com, version: v1, kind: Shop, deploymentName: a}]}
  webhookdefinitions:
  - type: MutatingAdmissionWebhook
    generateName: a.example.com
    deploymentName: a
    targetPort: 9443
    timeoutSeconds: 30
    sideEffects: None
    admissionReviewVersions: [v1]
    objectSelector: {matchExpressions: [{key: a, operator: In, values: [b]}]}
    rules: [{apiGroups: ["", "*"], apiVersions: [v1], resources: ["pods/*", "*"], operations: ["*"], scope: "*"}]
  - {type: ConversionWebhook, generateName: b.example.com, deploymentName: a, conversionCRDs: [goods.shop.example.com]}
  install:
    strategy: deployment
    spec:
      clusterPermissions: [{serviceAccountName: a, rules: [{apiGroups: [apiextensions.k8s.io], resources: ["*"], verbs: [create]}]}]
      deployments:
      - name: a
        spec:
          replicas: 2
          selector: {matchLabels: {a: b}}
          template:
            metadata: {labels: {a: b}}
            spec:
              volumes: [{name: v, projected: {sources: [{secret: {name: s}}]}}]
              containers: [{name: a, ports: [{containerPort: 9443}], volumeMounts: [{name: v, mountPath: /v}]}]
`

const smallDefinition = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: goods.shop.example.com}
spec:
  group: shop.example.com
  names: {kind: Good, plural: goods}
  scope: Namespaced
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {a: {type: integer, default: 1}}, x-kubernetes-validations: [{rule: "self.a > 0"}]}}}
`

const smallObjects = `---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: a}
spec: {maxUnavailable: 50%, selector: {matchLabels: {a: b}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: a}
subjects: [{kind: ServiceAccount, name: a}]
roleRef: {kind: ClusterRole, name: view, apiGroup: rbac.authorization.k8s.io}
---
apiVersion: autoscaling/v2beta2
kind: HorizontalPodAutoscaler
metadata: {name: a}
`

// FuzzWaivers reads a file of waivers of any text, and applies what it holds.
func FuzzWaivers(f *testing.F) {
	for _, text := range []string{
		"", "waivers:\n- code: one-replica\n  reason: because\n", "waivers: [{code: a, path: b, file: c, what: d, reason: e}]", "waivers: [", "waivers: {a: *a}",
		"a: &a [x, x]\nb: &b [*a, *a]\n", "waivers:\n" + strings.Repeat("- {code: one-replica, reason: because}\n", 100),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > need.MaxInput {
			return
		}
		file := filepath.Join(t.TempDir(), "waivers.yaml")
		must(t, os.WriteFile(file, text, 0o600))
		need.Limited(t, func() {
			waivers, err := ReadWaivers(file)
			if err != nil && waivers != nil {
				t.Errorf("%v, and %d waivers", err, len(waivers))
			}
			waive([]Finding{{Code: "one-replica"}}, waivers)
		})
	})
}
