package bundle

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/lint"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// proof is a bundle with one mistake, which is found, and what the cluster makes of it.
type proof struct {
	code    string
	example string
	// edits are texts of the example's files and what takes their place. An ellipsis stands
	// for all that is between two texts; the second is kept.
	edits []string
	claim func(*testing.T, *env, *bundle.Bundle)
}

const (
	admission  = "projectpolicy/bundle"
	conversion = "crdconversion/bundle-v2"
)

// proofs prove the checks that predict what a cluster does. What needs a kubelet or
// the controllers of a cluster, test/e2e proves.
var proofs = []proof{
	{"csv-schema", admission, []string{"    sideEffects: None\n", ""}, csvRefused},
	{"csv-schema", admission, []string{"containerPort: 443", "containerPort: 70000"}, csvRefused},
	{"csv-api-version", admission, []string{"operators.coreos.com/v1alpha1", "binding.operators.coreos.com/v1alpha1"}, csvRefused},
	{"unknown-kind", admission, []string{"kind: PodDisruptionBudget", "kind: PodDisruptionBudgett"}, noSuchKind},
	{"wrong-type", admission, []string{"  maturity: alpha", "  maturity: [alpha]"}, csvRefused},
	{"unknown-field", admission, []string{"  maturity: alpha", "  maturiti: alpha"}, droppedUnlessStrict},
	{"crd-invalid", conversion, []string{"openAPIV3Schema:", "openAPIV3Schema:\n        x-kubernetes-int-or-string: true"}, definitionRefused},
	{"crd-v1beta1", conversion, []string{"apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n"}, definitionRefused},
	{"not-an-object", admission, []string{"apiVersion: policy/v1\n", ""}, nothingToApply},
	{"too-big", admission, []string{"  maturity: alpha", "  maturity: " + strings.Repeat("a", 8<<20)}, tooBigToSend},
	{"too-big-to-store", admission, []string{"  maturity: alpha", "  maturity: " + strings.Repeat("a", 3<<19)}, tooBigToStore},

	{"package-name", admission, []string{"package.v1: projectpolicy", "package.v1: ProjectPolicy"}, groupRefused},
	{"package-name", admission, []string{"package.v1: projectpolicy", "package.v1: project.policy"}, namespaceRefused},
	{"suggested-namespace", admission, suggesting("template: '{'"), namespaceWithoutLabels},
	{"suggested-namespace", admission, suggesting(`template: '{"kind": "Pod", "apiVersion": "v1", "metadata": {"labels": {"a": "b"}}}'`), namespaceWithoutLabels},
	{"suggested-namespace", admission, suggesting(`template: '{"metadata": {"label": {"a": "b"}}}'`), namespaceWithoutLabels},
	{"suggested-namespace", admission, suggesting(`template: '{"metadata": {"name": "there", "labels": {"a": "b/c"}}}'`), namespaceRefused},
	{"suggested-namespace", admission, suggesting("name: A Name"), namespaceRefused},

	{"webhook-name", admission, []string{"generateName: namespaces.projectpolicy.example.com", "generateName: namespaces"}, registrationRefused},
	{"side-effects", admission, []string{"sideEffects: None", "sideEffects: Some"}, registrationRefused},
	{"review-version-unknown", admission, []string{"admissionReviewVersions: [v1]", "admissionReviewVersions: [v2]"}, registrationRefused},
	{"review-version-unknown", conversion, []string{"admissionReviewVersions: [v1]", "admissionReviewVersions: [v2]"}, conversionRefused},
	{"timeout-range", admission, []string{"timeoutSeconds: 5", "timeoutSeconds: 31"}, registrationRefused},
	{"webhook-path", admission, []string{"webhookPath: /validate-namespaces", "webhookPath: validate-namespaces"}, registrationRefused},
	{"webhook-path", admission, []string{"webhookPath: /validate-namespaces", "webhookPath: /validate//namespaces"}, registrationRefused},
	{"match-condition-invalid", admission, []string{"    capabilities: Basic Install\n", `    capabilities: Basic Install
    olm-webhook-manager.io/match-conditions: '{"namespaces.projectpolicy.example.com": [{"name": "a", "expression": "objekt.metadata.name != \"\""}]}'
`}, conditionRefused},
	{"webhook-path", conversion, []string{"webhookPath: /convert", "webhookPath: convert"}, conversionRefused},
	{"webhook-path", conversion, []string{"webhookPath: /convert", "webhookPath: /convert?to=v2"}, conversionRefused},
	{"webhook-value", admission, []string{"failurePolicy: Fail", "failurePolicy: fail"}, registrationRefused},
	{"object-selector", admission, []string{"operator: NotIn", "operator: Exists"}, registrationRefused},
	{"rule-incomplete", admission, []string{"operations: [CREATE, UPDATE]", "operations: []"}, registrationRefused},
	{"rule-incomplete", admission, []string{"operations: [CREATE, UPDATE]", "operations: [PATCH]"}, registrationRefused},
	{"rule-incomplete", admission, []string{"operations: [CREATE, UPDATE]", `operations: ["*", CREATE]`}, registrationRefused},
	{"rule-incomplete", admission, []string{"apiVersions: [v1]", "apiVersions: []"}, registrationRefused},
	{"rule-incomplete", admission, []string{"scope: Cluster", "scope: Everywhere"}, registrationRefused},
	{"selector-mismatch", admission, []string{"            matchLabels:\n", "            matchLabels:\n              other: pods\n"}, deploymentRefused},
	{"pod-invalid", admission, []string{"              containers:\n", "              volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]\n              containers:\n"}, deploymentRefused},
	{"ports-in-conflict", admission, []string{"  install:\n", secondWebhook + "  install:\n"}, both(serviceRefused, serviceTaken)},

	{"forbidden-rule", admission, []string{`apiGroups: [""]`, `apiGroups: ["*"]`}, managerFails},
	{"too-many-combinations", admission, []string{`apiGroups: [""]`, "apiGroups: [" + repeated + "]", "resources: [namespaces]", "resources: [" + repeated + "]"}, managerFailsUndecoded},
	{"repeated-webhook-name", admission, []string{"  install:\n", strings.ReplaceAll(secondWebhook, "second.", "namespaces.") + "  install:\n"}, managerFails},
	{"match-conditions", admission, []string{"    capabilities: Basic Install\n", "    capabilities: Basic Install\n    olm-webhook-manager.io/match-conditions: '{'\n"}, managerFails},
	{"conversion-refused", conversion, []string{"type: OwnNamespace\n    supported: false", "type: OwnNamespace\n    supported: true"}, managerFails},
	{"unknown-deployment", admission, []string{"deploymentName: projectpolicy-webhook", "deploymentName: missing"}, managerWaits},
	{"unknown-deployment", admission, []string{"      deployments:\n", "      deployments:\n      - name: projectpolicy-webhook\n        spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: example.com/a}]}}}\n"}, managerWaits},
	{"conversion-crd", conversion, []string{"kind: CustomResourceDefinition", "kind: ConfigMap", "apiextensions.k8s.io/v1\n", "v1\n"}, managerWaits},

	{"owned-version", conversion, []string{"    served: true\n    storage: false", "    served: false\n    storage: false"}, managerWaits},
	{"owned-apiservice", admission, []string{"  install:\n", ownedAPIService + "  install:\n"}, managerWaits},
	{"owned-apiservice", admission, []string{"  install:\n", strings.ReplaceAll(ownedAPIService+anotherKind, "missing", "projectpolicy-webhook") + "  install:\n"}, managerWaits},
	{"reserved-group", admission, []string{"  install:\n", strings.NewReplacer("shop.example.com", "apps", "missing", "projectpolicy-webhook").Replace(ownedAPIService) + "  install:\n"}, managerRefusesGroup},

	{"no-rules", admission, []string{"    rules:\n    - apiGroups: [\"\"]\n      apiVersions: [v1]\n      resources: [namespaces]\n      operations: [CREATE, UPDATE]\n      scope: Cluster\n" + subresources, ""}, neverCalled},
	{"rule-matches-nothing", admission, []string{"resources: [namespaces]", "resources: [Namespace]"}, neverCalled},
	{"rule-matches-nothing", admission, []string{"apiVersions: [v1]\n      resources: [namespaces]", "apiVersions: [v2]\n      resources: [namespaces]"}, neverCalled},
	{"scope-escapes", admission, []string{"type: OwnNamespace\n    supported: false", "type: OwnNamespace\n    supported: true", "resources: [namespaces]", "resources: [namespaces, persistentvolumes]"}, calledOutsideItsScope},
	{"scope-escapes", admission, []string{"type: OwnNamespace\n    supported: false", "type: OwnNamespace\n    supported: true", "resources: [namespaces]", `resources: ["*"]`}, calledOutsideItsScope},
	{"namespaces-unlabelled", admission, []string{"type: OwnNamespace\n    supported: false", "type: OwnNamespace\n    supported: true"}, calledForLabelledNamespaces},
	deadlock("", "pods", "its own pods", ownPod),
	deadlock("apps", "replicasets", "its own ReplicaSets", ownReplicaSet),
	deadlock("apps", "deployments", "its own Deployments", ownDeployment),
	deadlock("discovery.k8s.io", "endpointslices", "its own Services and their endpoints", ownEndpoints),
	deadlock("", "serviceaccounts", "its own ServiceAccounts and their tokens", ownAccount),
	deadlock("coordination.k8s.io", "leases", "the leases of nodes", leaseOfANode),
	{"conversion-of-one-version", conversion, []string{"  - name: v1\n    served…  - name: v2\n    served", ""}, neverConverts},
	{"conversion-undeclared", conversion, []string{"  - type: ConversionWebhook\n", "  - type: ValidatingAdmissionWebhook\n"}, cannotBeRead},

	// Of what OLM's validators call errors, the cluster confirms some and takes the rest.
	{"olm-csv", admission, []string{"  name: projectpolicy.v0.1.0", "  name: A Name"}, csvRefused},
	{"olm-bundle", conversion, []string{"kind: CustomResourceDefinition", "kind: ConfigMap", "apiextensions.k8s.io/v1\n", "v1\n"}, managerWaits},
	{"olm-bundle", admission, []string{"  version: 0.1.0\n", "  version: 0.1.0\n  release: \"1\"\n"}, taken("ClusterServiceVersion")},
	{"olm-object", admission, []string{"spec:\n  maxUnavailable: 1", "spec:\n  maxUnavailable: 0"}, taken("PodDisruptionBudget")},
	{"olm-removed-apis", admission, []string{"apiVersion: policy/v1\n", "apiVersion: policy/v1beta1\n"}, noSuchVersion},
}

var repeated = strings.TrimSuffix(strings.Repeat("apps, ", 101), ", ")

// secondWebhook is one more description, of the same port and another target.
const secondWebhook = `  - type: ValidatingAdmissionWebhook
    generateName: second.projectpolicy.example.com
    deploymentName: projectpolicy-webhook
    containerPort: 443
    targetPort: 8081
    sideEffects: None
    admissionReviewVersions: [v1]
`

// ownedAPIService is an API that no server serves.
const ownedAPIService = `  apiservicedefinitions:
    owned:
    - name: shops
      group: shop.example.com
      version: v7
      kind: Shop
      displayName: Shop
      deploymentName: missing
`

const anotherKind = `    - name: tills
      group: shop.example.com
      version: v7
      kind: Till
      displayName: Till
      deploymentName: missing
      containerPort: 8443
`

type evidence struct{ folder, test, name string }

// provedElsewhere are the checks whose claims need more than an API server, or none.
var provedElsewhere = map[string]evidence{
	"no-replicas":             {"../e2e", "TestNeverRegistered", "a Deployment without replicas"},
	"unnamed-port":            {"../e2e", "TestNeverRegistered", "a targetPort that no container names"},
	"missing-service-account": {"../e2e", "TestNeverRegistered", "a ServiceAccount that does not exist"},
	"missing-secret":          {"../e2e", "TestNeverRegistered", "a Secret that does not exist"},
	// The kubelet reads names by distribution/reference, of which the check uses a copy.
	"image-name": {loader, "TestImageNames", "two colons"},
	// What is no matter of a cluster, which never sees it: OLM's own loader decides.
	"not-a-bundle":    {loader, "TestOLMReadsItSo", "nothing"},
	"broken-file":     {loader, "TestOLMReadsItSo", "broken YAML"},
	"no-csv":          {loader, "TestOLMReadsItSo", "no CSV"},
	"several-csvs":    {loader, "TestOLMReadsItSo", "two CSVs"},
	"repeated-field":  {loader, "TestOLMReadsItSo", "a field twice"},
	"several-objects": {loader, "TestOLMReadsItSo", "two objects"},
	"stray-file":      {loader, "TestOLMReadsItSo", "a hidden file"},
	"no-annotation":   {loader, "TestOLMReadsItSo", "no annotation at all"},
	"broken-metadata": {loader, "TestOLMReadsItSo", "broken dependencies"},
	"broken-entry":    {loader, "TestOLMReadsItSo", "a dependency of none"},
	// What the commands refuse before they ask a cluster.
	"refused-object":  {loader, "TestRefusedObjects", "an OperatorGroup"},
	"repeated-object": {loader, "TestRepeatedObjects", "two namespaces"},
}

const loader = "../../pkg/cli/bundle/lint"

func TestEveryClaimIsProved(t *testing.T) {
	for _, c := range lint.Checks() {
		predicts := c.Basis != lint.Policy
		there, elsewhere := provedElsewhere[c.Code]
		proved := elsewhere || slices.ContainsFunc(proofs, func(p proof) bool { return p.code == c.Code })
		installtest.Same(t, fmt.Sprintf("%s (%s) predicts what a cluster does", c.Code, c.Basis), proved, predicts)
		if elsewhere && !there.exists(t, c.Code) {
			t.Errorf("%s: %s has no test %s with a case %q that finds it", c.Code, there.folder, there.test, there.name)
		}
	}
}

// exists reports whether a folder has the test, and the test a case with the code: the test
// itself holds its bundle to the finding.
func (e evidence) exists(t *testing.T, code string) bool {
	t.Helper()
	files := installtest.OrPanic(filepath.Glob(e.folder + "/*_test.go"))
	for _, file := range files {
		text := installtest.OrPanic(os.ReadFile(file))
		_, test, found := strings.Cut(string(text), "\nfunc "+e.test+"(t *testing.T) {\n")
		body, _, _ := strings.Cut(test, "\n}\n")
		if found {
			_, its, found := strings.Cut(body, "\n\t\t"+strconv.Quote(e.name)+": ")
			its, _, _ = strings.Cut(its, "\n\t\t\"")
			return found && strings.Contains(its, strconv.Quote(code))
		}
	}
	return false
}

func TestProofs(t *testing.T) {
	e := newEnv(t)
	e.manage(t)
	for _, example := range []string{admission, conversion} {
		t.Run("whole "+example, func(t *testing.T) { nothingButPermissionsMissing(t, e, edited(t, proof{example: example})) })
	}
	for _, p := range proofs {
		t.Run(p.code, func(t *testing.T) {
			b := edited(t, p)
			installtest.Same(t, p.code+" is found", true, finds(b, p.code))
			for _, f := range lint.Run(b).Findings {
				if f.Remedy == "" {
					t.Errorf("%s names no next step: %s", f.Code, f.What)
				}
			}
			p.claim(t, e, b)
		})
	}
}

func finds(b *bundle.Bundle, code string) bool {
	return slices.ContainsFunc(lint.Run(b).Findings, func(f lint.Finding) bool { return f.Code == code })
}

// TestTheExamplesAreAccepted: what refuses the broken bundles takes the whole ones.
func TestTheExamplesAreAccepted(t *testing.T) {
	e := newEnv(t)
	b := edited(t, proof{example: admission})
	e.namespace(t, testNamespace)
	for what, err := range map[string]error{
		"ClusterServiceVersion": e.createCSV(t, b, true), "registration": e.register(t, first(b), "whole", nil, true),
		"Deployment": e.createDeployment(t, b), "definition": e.createDefinition(t, edited(t, proof{example: conversion})),
		"conversion": e.createConverted(t, edited(t, proof{example: conversion})),
	} {
		if err != nil {
			t.Errorf("the %s is refused: %v", what, err)
		}
	}
}

func edited(t *testing.T, p proof) *bundle.Bundle {
	t.Helper()
	source := os.DirFS("../../examples/" + p.example)
	fsys, applied := fstest.MapFS{}, map[string]bool{}
	must(t, fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(source, name)
		changed := string(text)
		for i := 0; i+1 < len(p.edits); i += 2 {
			if old := passage(changed, p.edits[i]); old != "" {
				changed, applied[p.edits[i]] = strings.Replace(changed, old, p.edits[i+1], 1), true
			}
		}
		fsys[name] = &fstest.MapFile{Data: []byte(changed)}
		return err
	}))
	for i := 0; i < len(p.edits); i += 2 {
		if !applied[p.edits[i]] {
			t.Fatalf("%q is nowhere in %s", p.edits[i], p.example)
		}
	}
	return bundle.InspectFS(fsys, "test")
}

// passage is what an edit removes from a text; empty when it is not there.
func passage(text, edit string) string {
	from, to, spans := strings.Cut(edit, "…")
	start := strings.Index(text, from)
	if start < 0 {
		return ""
	}
	if !spans {
		return from
	}
	return text[start : start+max(0, strings.Index(text[start:], to))]
}

// subresources is the second rule of the bundle for admission.
const subresources = "    # An update of a subresource can change labels, too.\n    - apiGroups: [\"\"]\n      apiVersions: [v1]\n" +
	"      resources: [namespaces/status, namespaces/finalize]\n      operations: [UPDATE]\n      scope: Cluster\n"
