package lint

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle/internal/need"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/output"
)

const shortCSV = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: a.v1.0.0\n"

// attacks are manifests of about 1 MiB, each made to need more time or memory than its size.
var attacks = map[string]struct{ text, says string }{
	"webhooks":                  {shortCSV + "spec: {webhookdefinitions: [" + numbered(need.MaxInput/170, "{type: MutatingAdmissionWebhook, generateName: w%07x.example.com, deploymentName: aaaaaaaaaaaaaa, rules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: ['*']}]},\n") + "]}\n", "are not listed"},
	"rules":                     {shortCSV + "spec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a, rules: [" + numbered(need.MaxInput/80, "{apiGroups: ['a%07x.b'], apiVersions: [v1], resources: [b], operations: ['*']},\n") + "]}]}\n", ""},
	"resources":                 {shortCSV + "spec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a, rules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [" + numbered(need.MaxInput/9, "p%06x,") + "]}]}]}\n", "more than 10000 combinations"},
	"groups and resources":      {shortCSV + "spec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a, rules: [{apiVersions: [v1], operations: ['*'], apiGroups: [" + numbered(20000, "a%x.b,") + "], resources: [" + numbered(20000, "p%x,") + "]}]}]}\n", "more than 10000 combinations"},
	"permitted products":        {shortCSV + "spec: {install: {strategy: deployment, spec: {clusterPermissions: [{serviceAccountName: a, rules: [{verbs: [" + numbered(300, "v%x,") + "], apiGroups: [" + numbered(300, "a%x,") + "], resources: [" + numbered(300, "r%x,") + "], resourceNames: [" + numbered(300, "n%x,") + "]}]}]}}}\n", "more than 100000 combinations"},
	"products of a role":        {shortCSV + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: [{verbs: [get], apiGroups: [" + numbered(20000, "a%x,") + "], resources: [" + numbered(20000, "r%x,") + "]}]\n", "more than 100000 combinations"},
	"subjects and rules":        {shortCSV + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: [" + numbered(5000, "{verbs: [get], apiGroups: [a%x], resources: [b]},") + "]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {kind: ClusterRole, name: a}\nsubjects: [" + numbered(5000, "{kind: User, name: u%x},") + "]\n", "more than 10000 rules"},
	"groups of a configuration": {shortCSV + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: [{name: w.example.com, clientConfig: {url: 'https://a'}, rules: [{apiVersions: [v1], operations: ['*'], apiGroups: [" + numbered(20000, "a%x.b,") + "], resources: [" + numbered(20000, "p%x,") + "]}]}]\n", "more than 10000 combinations"},
	"deployments":               {shortCSV + "spec: {install: {strategy: deployment, spec: {deployments: [" + numbered(need.MaxInput/60, "{name: a%07x, spec: {template: {spec: {containers: []}}}},\n") + "]}}}\n", ""},
	"deployments alike":         {shortCSV + "spec: {install: {strategy: deployment, spec: {deployments: [" + strings.Repeat("{name: aaaaaaaa, spec: {template: {metadata: {}}}},\n", need.MaxInput/52) + "]}}}\n", ""},
	"containers":                {shortCSV + "spec: {install: {strategy: deployment, spec: {deployments: [{name: a, spec: {template: {spec: {containers: [" + numbered(need.MaxInput/34, "{name: a%07x, image: aaaaaaa},\n") + "]}}}}]}}}\n", ""},
	"permissions":               {shortCSV + "spec: {install: {strategy: deployment, spec: {clusterPermissions: [" + numbered(need.MaxInput/90, "{serviceAccountName: a%07x, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]},\n") + "]}}}\n", ""},
	"permission rules":          {shortCSV + "spec: {install: {strategy: deployment, spec: {clusterPermissions: [{serviceAccountName: a, rules: [" + numbered(need.MaxInput/70, "{apiGroups: [a%07x], resources: [aaaaaaaa], verbs: [aaaaaa]},\n") + "]}]}}}\n", ""},
	"owned definitions":         {shortCSV + "spec: {customresourcedefinitions: {owned: [" + numbered(need.MaxInput/70, "{name: a%07x.example.com, version: v1, kind: Aaaaaaaaaaaaaaaa},\n") + "]}}\n", "more findings like these"},
	"owned APIServices":         {shortCSV + "spec: {apiservicedefinitions: {owned: [" + numbered(need.MaxInput/70, "{name: a%07x, group: a.b, version: v1, kind: A, deploymentName: a},\n") + "]}}\n", ""},
	"examples":                  {shortCSV + "  annotations: {alm-examples: '[" + strings.Repeat(`{"apiVersion":"a.b/v1","kind":"C"},`, need.MaxInput/36) + "{}]'}\n", ""},
	"nested examples":           {shortCSV + "  annotations: {alm-examples: '" + strings.Repeat("[", need.MaxInput-1000) + "'}\n", ""},
	"deep examples":             {shortCSV + "  annotations: {alm-examples: '" + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "'}\n", ""},
	"match conditions":          {shortCSV + "  annotations: {olm-webhook-manager.io/match-conditions: '{\"w.example.com\": [" + numbered(60, `{"name":"a%x","expression":"`+strings.Repeat("object.a == 1 || ", 1000)+`true"},`) + "{}]}'}\nspec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a}]}\n", "more expressions in CEL"},
	"many conditions":           {shortCSV + "  annotations: {olm-webhook-manager.io/match-conditions: '{\"w.example.com\": [" + numbered(need.MaxInput/42, `{"name":"a%07x","expression":"true"},`) + "{}]}'}\nspec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a}]}\n", "cannot be read: has about"},
	"aliases in conditions":     {shortCSV + "  annotations: {olm-webhook-manager.io/match-conditions: 'a: &a [" + strings.Repeat("x,", 9999) + "]\n\n\n    b: &b [" + strings.Repeat("*a,", 9999) + "]\n\n\n    c: [" + strings.Repeat("*b,", 9999) + "]'}\nspec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a}]}\n", "repeat too much"},
	"long name":                 {strings.Replace(shortCSV, "a.v1.0.0", strings.Repeat("a", need.MaxInput-1000), 1), ""},
	"long names":                {shortCSV + "spec: {webhookdefinitions: [" + strings.Repeat("{generateName: "+strings.Repeat("a", 5000)+"},", 200) + "]}\n", ""},
	"selector":                  {shortCSV + "spec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a, objectSelector: {matchExpressions: [" + numbered(need.MaxInput/42, "{key: a%07x, operator: In, values: [b]},\n") + "]}}]}\n", ""},
	"configuration":             {shortCSV + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: [" + numbered(need.MaxInput/130, "{name: w%07x.example.com, clientConfig: {url: 'https://a'}, rules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: ['*']}]},\n") + "]\n", ""},
	"objects":                   {shortCSV + numbered(9000, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%07x}\n"), ""},
	"service accounts":          {shortCSV + numbered(9000, "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a%07x}\n"), ""},
	"budgets":                   {shortCSV + numbered(9000, "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a%07x}\n"), ""},
	"role bindings":             {shortCSV + numbered(6000, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a%07x}\nroleRef: {kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: Group, name: a}]\n"), ""},
	"definitions":               {shortCSV + numbered(3000, "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: goods.a%[1]x.b}\nspec: {group: a%[1]x.b, scope: Namespaced, names: {kind: Good, plural: goods}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"), ""},
	"versions":                  {shortCSV + definitionWith("{type: object}", numbered(need.MaxInput/90, "{name: v%d, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}},\n")), ""},
	"properties":                {shortCSV + definitionWith("{type: object, properties: {"+numbered(need.MaxInput/24, "a%07x: {type: string},\n")+"}}", ""), ""},
	"defaults":                  {shortCSV + definitionWith("{type: object, properties: {"+numbered(need.MaxInput/50, "a%07x: {type: string, default: aaaaaaaaaaaaaa},\n")+"}}", ""), ""},
	"defaults of a schema":      {shortCSV + definitionWith("{type: object, properties: {a: {type: object, default: {}, properties: {"+numbered(need.MaxInput/50, "a%07x: {type: string, default: aaaaaaaaaaaaaa},\n")+"}}}}", ""), ""},
	"nested defaults":           {shortCSV + definitionWith("{type: object, properties: "+strings.Repeat("{a: {type: object, default: {}, properties: ", 50)+"{b: {type: string, default: "+strings.Repeat("b", 900000)+"}}"+strings.Repeat("}}", 50)+"}", ""), ""},
	"deep defaults":             {shortCSV + definitionWith("{type: object, properties: "+strings.Repeat("{a: {type: object, default: {}, properties: ", 50)+"{"+numbered(20000, "b%06x: {type: string, default: aaaa},\n")+"}"+strings.Repeat("}}", 50)+"}", ""), ""},
	"pattern":                   {shortCSV + definitionWith("{type: object, properties: {a: {type: string, pattern: '"+strings.Repeat("a{1000}", need.MaxInput/7-100)+"'}}}", ""), ""},
	"patterns":                  {shortCSV + definitionWith("{type: object, properties: {"+numbered(need.MaxInput/720, "a%07x: {type: string, pattern: '"+strings.Repeat("a{1000}", 98)+"'},\n")+"}}", ""), ""},
	"classes":                   {shortCSV + definitionWith("{type: object, properties: {a: {type: string, pattern: '"+strings.Repeat(`(?i)\pL`, need.MaxInput/8-100)+"'}}}", ""), ""},
	"all of":                    {shortCSV + definitionWith("{type: object, allOf: ["+strings.Repeat("{required: [a]},\n", need.MaxInput/17-100)+"]}", ""), ""},
	"enum":                      {shortCSV + definitionWith("{type: object, properties: {a: {type: string, enum: ["+numbered(need.MaxInput/10, "a%07x,\n")+"]}}}", ""), ""},
	"required":                  {shortCSV + definitionWith("{type: object, required: ["+numbered(need.MaxInput/10, "a%07x,\n")+"]}", ""), ""},
	"validations":               {shortCSV + definitionWith("{type: object, properties: {a: {type: integer}}, x-kubernetes-validations: ["+strings.Repeat("{rule: 'self.a > 1                 '},\n", need.MaxInput/40)+"]}", ""), "more expressions in CEL"},
	"long validations":          {shortCSV + definitionWith("{type: object, properties: {a: {type: integer}}, x-kubernetes-validations: ["+strings.Repeat("{rule: '"+strings.Repeat("self.a > 1 || ", 350)+"true'},\n", need.MaxInput/5000)+"]}", ""), "more expressions in CEL"},
	"nested validations":        {shortCSV + definitionWith("{type: object, properties: {a: {type: array, items: {type: string}}}, x-kubernetes-validations: ["+strings.Repeat("{rule: '"+strings.Repeat("self.a.all(x, ", 50)+"true"+strings.Repeat(")", 50)+"'},\n", need.MaxInput/800)+"]}", ""), "more expressions in CEL"},
	"printer columns":           {shortCSV + strings.Replace(definitionWith("{type: object}", ""), "served: true,", "served: true, additionalPrinterColumns: ["+numbered(need.MaxInput/46, "{name: a%07x, type: string, jsonPath: .a.b},\n")+"],", 1), ""},
	"JSON paths":                {shortCSV + strings.Replace(definitionWith("{type: object}", ""), "served: true,", "served: true, additionalPrinterColumns: [{name: a, type: string, jsonPath: '"+strings.Repeat(".a[0]", need.MaxInput/6-100)+"'}],", 1), ""},
}

// definitionWith is a definition with a schema, and with further versions.
func definitionWith(schema, versions string) string {
	return "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: goods.a.b}\n" +
		"spec: {group: a.b, scope: Namespaced, names: {kind: Good, plural: goods}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: " + schema + "}}," + versions + "]}\n"
}

func numbered(n int, format string) string {
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, format, i)
	}
	return text.String()
}

// Each attack is validated, rendered and shown within the limits, and what is not checked is a finding.
func TestAttacks(t *testing.T) {
	all(t, bundle.InspectFS(fstest.MapFS{"manifests/a.yaml": {Data: []byte(smallCSV + smallDefinition)}}, "warm")) // Schemas and environments are made once.
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"manifests/a.yaml": {Data: []byte(attack.text)}}
			var report Report
			need.Limited(t, func() { report = all(t, bundle.InspectFS(files, "attack")) })
			if !strings.Contains(fmt.Sprint(report.Findings), attack.says) {
				t.Errorf("the findings are %v, want %q", report.Findings, attack.says)
			}
		})
	}
}

// all does what the commands do with a bundle, without a cluster.
func all(t testing.TB, b *bundle.Bundle) Report {
	t.Helper()
	report := Run(b)
	report.Print(output.Discard())
	if b.Err() != nil {
		return report
	}
	manifests, err := bundle.Manifests(b, bundle.Options{})
	if (err == nil) != (len(manifests) > 0) {
		t.Errorf("%d manifests and %v", len(manifests), err)
	}
	var refused *bundle.RefusedError
	if errors.As(err, &refused) {
		manifests = refused.Manifests
	}
	if len(manifests) > 0 {
		show.Of(b, manifests).Print(output.Discard())
	}
	return report
}
