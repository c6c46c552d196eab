package lint

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/internal/need"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle/show"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const shortCSV = "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\nmetadata:\n  name: a.v1.0.0\n"

// attacks are manifests of about 1 MiB, each made to need more time or memory than its size.
var attacks = map[string]struct{ text, contains string }{
	"APIServices and Deployments": {shortCSV + "spec: {apiservicedefinitions: {owned: [" + strings.Repeat("{deploymentName: a},", 6000) + "]}, install: {spec: {deployments: [" + strings.Repeat("{name: a},", 6000) + "]}}}\n", ""},
	"annotations of an account":   {shortCSV + "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a, annotations: {" + installtest.Numbered(60000, "k%x: a, ") + "}}\n", ""},
	"Secrets that are mounted":    {shortCSV + "spec: {install: {spec: {deployments: [{name: a, spec: {template: {spec: {volumes: [" + strings.Repeat("{secret: {secretName: b}},", 5000) + "]}}}}]}}}\n" + installtest.Numbered(5000, "---\n{apiVersion: v1, kind: Secret, metadata: {name: s%x}}\n"), ""},
	"webhooks":                    {shortCSV + "spec: {webhookdefinitions: [" + installtest.Numbered(need.MaxInput/170, "{type: MutatingAdmissionWebhook, generateName: w%07x.example.com, deploymentName: aaaaaaaaaaaaaa, rules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: ['*']}]},\n") + "]}\n", "are not listed"},
	"rules":                       {shortCSV + "spec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a, rules: [" + installtest.Numbered(need.MaxInput/80, "{apiGroups: ['a%07x.b'], apiVersions: [v1], resources: [b], operations: ['*']},\n") + "]}]}\n", ""},
	"resources":                   {shortCSV + "spec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a, rules: [{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [" + installtest.Numbered(need.MaxInput/9, "p%06x,") + "]}]}]}\n", "more than 10000 combinations"},
	"groups and resources":        {shortCSV + "spec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a, rules: [{apiVersions: [v1], operations: ['*'], apiGroups: [" + installtest.Numbered(20000, "a%x.b,") + "], resources: [" + installtest.Numbered(20000, "p%x,") + "]}]}]}\n", "more than 10000 combinations"},
	"permitted products":          {shortCSV + "spec: {install: {strategy: deployment, spec: {clusterPermissions: [{serviceAccountName: a, rules: [{verbs: [" + installtest.Numbered(300, "v%x,") + "], apiGroups: [" + installtest.Numbered(300, "a%x,") + "], resources: [" + installtest.Numbered(300, "r%x,") + "], resourceNames: [" + installtest.Numbered(300, "n%x,") + "]}]}]}}}\n", "more than 100000 combinations"},
	"products of a role":          {shortCSV + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: [{verbs: [get], apiGroups: [" + installtest.Numbered(20000, "a%x,") + "], resources: [" + installtest.Numbered(20000, "r%x,") + "]}]\n", "more than 4 MiB of combinations"},
	"subjects and rules":          {shortCSV + "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\nrules: [" + installtest.Numbered(5000, "{verbs: [get], apiGroups: [a%x], resources: [b]},") + "]\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {kind: ClusterRole, name: a}\nsubjects: [" + installtest.Numbered(5000, "{kind: User, name: u%x},") + "]\n", "give more than 4 MiB of rules"},
	"long rules of subjects":      {shortCSV + clusterRole("", "rules: [{verbs: [get], apiGroups: [a], resources: ["+strings.Repeat("r", 700000)+"]}]") + boundTo(9000), "give more than 4 MiB of rules"},
	"groups of subjects":          {shortCSV + clusterRole("", "rules: [{verbs: [get], apiGroups: ["+installtest.Numbered(100, "a%x,")+"], resources: ["+installtest.Numbered(100, "r%x,")+"]}]") + boundTo(9000), "give more than 4 MiB of rules"},
	"selectors of subjects":       {shortCSV + clusterRole("", "aggregationRule: {clusterRoleSelectors: ["+installtest.Numbered(9000, "{matchLabels: {a: b%x}},")+"]}\nrules: []") + boundTo(9000), "give more than 4 MiB of rules"},
	"labels and rules":            {shortCSV + clusterRole(installtest.Numbered(3000, "rbac.authorization.k8s.io/aggregate-to-a%x: 'true',"), "rules: ["+installtest.Numbered(3000, "{verbs: [get], apiGroups: [a%x], resources: [b]},")+"]"), "give more than 4 MiB of rules"},
	"long name of a role for all": {shortCSV + strings.Replace(clusterRole("", "rules: ["+strings.Repeat("{verbs: ['*'], apiGroups: ['*'], resources: ['*']},", 9000)+"]"), "name: a,", "name: "+strings.Repeat("a", 500000)+",", 1), "combinations"},
	"many configurations":         {shortCSV + installtest.Numbered(900, "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a%x}\nwebhooks: [{name: w.example.com, clientConfig: {url: 'https://a'}, rules: [{apiVersions: [v1], operations: ['*'], apiGroups: ["+installtest.Numbered(90, "a%x,")+"], resources: ["+installtest.Numbered(90, "p%x,")+"]}]}]\n"), "more than 4 MiB of combinations"},
	"groups of a policy":          {shortCSV + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}\nspec: {validations: [{expression: 'true'}], matchConstraints: {resourceRules: [{apiVersions: [v1], operations: ['*'], apiGroups: [" + installtest.Numbered(20000, "a%x.b,") + "], resources: [" + installtest.Numbered(20000, "p%x,") + "]}]}}\n", "more than 4 MiB of combinations"},
	"groups of a mutation":        {shortCSV + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: a}\nspec: {matchConstraints: {resourceRules: [{apiVersions: [v1], operations: ['*'], apiGroups: [" + installtest.Numbered(20000, "a%x.b,") + "], resources: [" + installtest.Numbered(20000, "p%x,") + "]}]}}\n", "more than 4 MiB of combinations"},
	"long groups and resources":   {shortCSV + "spec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a, rules: [{apiVersions: [v1], operations: ['*'], apiGroups: [" + installtest.Numbered(90, "a%x"+strings.Repeat("a", 5000)+",") + "], resources: [" + installtest.Numbered(90, "p%x"+strings.Repeat("p", 5000)+",") + "]}]}]}\n", "combinations"},
	"long permitted products":     {shortCSV + "spec: {install: {strategy: deployment, spec: {clusterPermissions: [{serviceAccountName: a, rules: [{verbs: [get], apiGroups: [" + installtest.Numbered(300, "a%x"+strings.Repeat("a", 1500)+",") + "], resources: [" + installtest.Numbered(300, "r%x"+strings.Repeat("r", 1500)+",") + "]}]}]}}}\n", "combinations"},
	"long name of a role":         {shortCSV + strings.Replace(clusterRole("", "rules: ["+installtest.Numbered(5000, "{verbs: [get], apiGroups: [a%x], resources: [b]},")+"]"), "name: a,", "name: "+strings.Repeat("a", 500000)+",", 1), "combinations"},
	"long labels of a role":       {shortCSV + clusterRole("a: "+strings.Repeat("b", 500000), "rules: ["+installtest.Numbered(5000, "{verbs: [get], apiGroups: [a%x], resources: [b]},")+"]"), "give more than 4 MiB of rules"},
	"long subjects":               {shortCSV + clusterRole("", "rules: ["+installtest.Numbered(3000, "{verbs: [get], apiGroups: [a%x], resources: [b]},")+"]") + strings.Replace(boundTo(1), "name: u", "name: "+strings.Repeat("u", 500000), 1), "give more than 4 MiB of rules"},
	"long configuration":          {shortCSV + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: " + strings.Repeat("a", 500000) + "}\nwebhooks: [" + installtest.Numbered(4000, "{name: w%07x.example.com, clientConfig: {url: 'https://a'}},\n") + "]\n", "combinations"},
	"long name and permissions":   {strings.Replace(shortCSV, "a.v1.0.0", strings.Repeat("a", 500000), 1) + "spec: {install: {strategy: deployment, spec: {clusterPermissions: [" + installtest.Numbered(4000, "{serviceAccountName: a%07x, rules: [{apiGroups: [a], resources: [b], verbs: [c]}]},\n") + "]}}}\n", ""},
	"long name and webhooks":      {strings.Replace(shortCSV, "a.v1.0.0", strings.Repeat("a", 500000), 1) + "spec: {webhookdefinitions: [" + installtest.Numbered(3000, "{type: MutatingAdmissionWebhook, generateName: w%07x.example.com, deploymentName: a},\n") + "]}\n", ""},
	"long account":                {shortCSV + "spec: {install: {strategy: deployment, spec: {clusterPermissions: [{serviceAccountName: " + strings.Repeat("a", 500000) + ", rules: [" + installtest.Numbered(9000, "{verbs: [get], apiGroups: [a%x], resources: [b]},") + "]}]}}}\n", "combinations"},
	"deployments and webhooks":    {shortCSV + "spec: {webhookdefinitions: [" + installtest.Numbered(3000, "{type: MutatingAdmissionWebhook, generateName: w%x.example.com, deploymentName: a},\n") + "], install: {strategy: deployment, spec: {deployments: [" + strings.Repeat("{name: a, spec: {}},\n", 3000) + "]}}}\n", "2997 more have the name"},
	"webhooks of no deployment":   {shortCSV + "spec: {webhookdefinitions: [" + installtest.Numbered(3000, "{type: MutatingAdmissionWebhook, generateName: w%x.example.com, deploymentName: a},\n") + "], install: {strategy: deployment, spec: {deployments: [" + installtest.Numbered(3000, "{name: b%x, spec: {}},\n") + "]}}}\n", ""},
	"capabilities":                {shortCSV + "spec: {install: {strategy: deployment, spec: {deployments: [{name: a, spec: {template: {spec: {containers: [{name: a, image: a, securityContext: {capabilities: {add: [" + installtest.Numbered(need.MaxInput/10, "C%07x,") + "]}}}]}}}}]}}}\n", ""},
	"groups of a configuration":   {shortCSV + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: [{name: w.example.com, clientConfig: {url: 'https://a'}, rules: [{apiVersions: [v1], operations: ['*'], apiGroups: [" + installtest.Numbered(20000, "a%x.b,") + "], resources: [" + installtest.Numbered(20000, "p%x,") + "]}]}]\n", "more than 4 MiB of combinations"},
	"deployments":                 {shortCSV + "spec: {install: {strategy: deployment, spec: {deployments: [" + installtest.Numbered(need.MaxInput/60, "{name: a%07x, spec: {template: {spec: {containers: []}}}},\n") + "]}}}\n", ""},
	"deployments alike":           {shortCSV + "spec: {install: {strategy: deployment, spec: {deployments: [" + strings.Repeat("{name: aaaaaaaa, spec: {template: {metadata: {}}}},\n", need.MaxInput/52) + "]}}}\n", ""},
	"containers":                  {shortCSV + "spec: {install: {strategy: deployment, spec: {deployments: [{name: a, spec: {template: {spec: {containers: [" + installtest.Numbered(need.MaxInput/34, "{name: a%07x, image: aaaaaaa},\n") + "]}}}}]}}}\n", ""},
	"permissions":                 {shortCSV + "spec: {install: {strategy: deployment, spec: {clusterPermissions: [" + installtest.Numbered(need.MaxInput/90, "{serviceAccountName: a%07x, rules: [{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]},\n") + "]}}}\n", ""},
	"permission rules":            {shortCSV + "spec: {install: {strategy: deployment, spec: {clusterPermissions: [{serviceAccountName: a, rules: [" + installtest.Numbered(need.MaxInput/70, "{apiGroups: [a%07x], resources: [aaaaaaaa], verbs: [aaaaaa]},\n") + "]}]}}}\n", ""},
	"definitions and roles":       {shortCSV + installtest.Numbered(2500, "---\n{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: b%x}}\n") + installtest.Numbered(2500, "---\n{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a%x}, rules: [{}]}\n"), ""},
	"annotations and deployments": {strings.Replace(shortCSV, "  name: a.v1.0.0\n", "  name: a.v1.0.0\n  annotations: {"+installtest.Numbered(40000, "k%x: a, ")+"}\n", 1) + "spec: {install: {strategy: deployment, spec: {deployments: [" + installtest.Numbered(20000, "{name: a%x},") + "]}}}\n", ""},
	"long name and deployments":   {strings.Replace(shortCSV, "a.v1.0.0", strings.Repeat("a", 500000), 1) + "spec: {install: {strategy: deployment, spec: {deployments: [" + installtest.Numbered(5000, "{name: a%07x, spec: {template: {spec: {containers: [{name: a}]}}}},\n") + "]}}}\n", ""},
	"owned definitions":           {shortCSV + "spec: {customresourcedefinitions: {owned: [" + installtest.Numbered(need.MaxInput/70, "{name: a%07x.example.com, version: v1, kind: Aaaaaaaaaaaaaaaa},\n") + "]}}\n", "more findings like these"},
	"owned APIServices":           {shortCSV + "spec: {apiservicedefinitions: {owned: [" + installtest.Numbered(need.MaxInput/70, "{name: a%07x, group: a.b, version: v1, kind: A, deploymentName: a},\n") + "]}}\n", ""},
	"examples":                    {shortCSV + "  annotations: {alm-examples: '[" + strings.Repeat(`{"apiVersion":"a.b/v1","kind":"C"},`, need.MaxInput/36) + "{}]'}\n", ""},
	"nested examples":             {shortCSV + "  annotations: {alm-examples: '" + strings.Repeat("[", need.MaxInput-1000) + "'}\n", ""},
	"deep examples":               {shortCSV + "  annotations: {alm-examples: '" + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "'}\n", ""},
	"match conditions":            {shortCSV + "  annotations: {olm-webhook-manager.io/match-conditions: '{\"w.example.com\": [" + installtest.Numbered(60, `{"name":"a%x","expression":"`+strings.Repeat("object.a == 1 || ", 1000)+`true"},`) + "{}]}'}\nspec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a}]}\n", "more expressions in CEL"},
	"many conditions":             {shortCSV + "  annotations: {olm-webhook-manager.io/match-conditions: '{\"w.example.com\": [" + installtest.Numbered(need.MaxInput/42, `{"name":"a%07x","expression":"true"},`) + "{}]}'}\nspec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a}]}\n", "cannot be read: has about"},
	"aliases in conditions":       {shortCSV + "  annotations: {olm-webhook-manager.io/match-conditions: 'a: &a [" + strings.Repeat("x,", 9999) + "]\n\n\n    b: &b [" + strings.Repeat("*a,", 9999) + "]\n\n\n    c: [" + strings.Repeat("*b,", 9999) + "]'}\nspec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a}]}\n", "repeat too much"},
	"long name":                   {strings.Replace(shortCSV, "a.v1.0.0", strings.Repeat("a", need.MaxInput-1000), 1), ""},
	"long names":                  {shortCSV + "spec: {webhookdefinitions: [" + strings.Repeat("{generateName: "+strings.Repeat("a", 5000)+"},", 200) + "]}\n", ""},
	"selector":                    {shortCSV + "spec: {webhookdefinitions: [{type: MutatingAdmissionWebhook, generateName: w.example.com, deploymentName: a, objectSelector: {matchExpressions: [" + installtest.Numbered(need.MaxInput/42, "{key: a%07x, operator: In, values: [b]},\n") + "]}}]}\n", ""},
	"configuration":               {shortCSV + "---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: a}\nwebhooks: [" + installtest.Numbered(need.MaxInput/130, "{name: w%07x.example.com, clientConfig: {url: 'https://a'}, rules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: ['*']}]},\n") + "]\n", ""},
	"objects":                     {shortCSV + installtest.Numbered(9000, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a%07x}\n"), ""},
	"service accounts":            {shortCSV + installtest.Numbered(9000, "---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: a%07x}\n"), ""},
	"budgets":                     {shortCSV + installtest.Numbered(9000, "---\napiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: a%07x}\n"), ""},
	"role bindings":               {shortCSV + installtest.Numbered(6000, "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a%07x}\nroleRef: {kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: Group, name: a}]\n"), ""},
	"definitions":                 {shortCSV + installtest.Numbered(3000, "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: goods.a%[1]x.b}\nspec: {group: a%[1]x.b, scope: Namespaced, names: {kind: Good, plural: goods}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]}\n"), ""},
	"versions":                    {shortCSV + definitionWith("{type: object}", installtest.Numbered(need.MaxInput/90, "{name: v%d, served: true, storage: false, schema: {openAPIV3Schema: {type: object}}},\n")), ""},
	"properties":                  {shortCSV + definitionWith("{type: object, properties: {"+installtest.Numbered(need.MaxInput/24, "a%07x: {type: string},\n")+"}}", ""), ""},
	"defaults":                    {shortCSV + definitionWith("{type: object, properties: {"+installtest.Numbered(need.MaxInput/50, "a%07x: {type: string, default: aaaaaaaaaaaaaa},\n")+"}}", ""), ""},
	"defaults of a schema":        {shortCSV + definitionWith("{type: object, properties: {a: {type: object, default: {}, properties: {"+installtest.Numbered(need.MaxInput/50, "a%07x: {type: string, default: aaaaaaaaaaaaaa},\n")+"}}}}", ""), ""},
	"nested defaults":             {shortCSV + definitionWith("{type: object, properties: "+strings.Repeat("{a: {type: object, default: {}, properties: ", 50)+"{b: {type: string, default: "+strings.Repeat("b", 900000)+"}}"+strings.Repeat("}}", 50)+"}", ""), ""},
	"deep defaults":               {shortCSV + definitionWith("{type: object, properties: "+strings.Repeat("{a: {type: object, default: {}, properties: ", 50)+"{"+installtest.Numbered(20000, "b%06x: {type: string, default: aaaa},\n")+"}"+strings.Repeat("}}", 50)+"}", ""), ""},
	"pattern":                     {shortCSV + definitionWith("{type: object, properties: {a: {type: string, pattern: '"+strings.Repeat("a{1000}", need.MaxInput/7-100)+"'}}}", ""), ""},
	"patterns":                    {shortCSV + definitionWith("{type: object, properties: {"+installtest.Numbered(need.MaxInput/720, "a%07x: {type: string, pattern: '"+strings.Repeat("a{1000}", 98)+"'},\n")+"}}", ""), ""},
	"classes":                     {shortCSV + definitionWith("{type: object, properties: {a: {type: string, pattern: '"+strings.Repeat(`(?i)\pL`, need.MaxInput/8-100)+"'}}}", ""), ""},
	"all of":                      {shortCSV + definitionWith("{type: object, allOf: ["+strings.Repeat("{required: [a]},\n", need.MaxInput/17-100)+"]}", ""), ""},
	"enum":                        {shortCSV + definitionWith("{type: object, properties: {a: {type: string, enum: ["+installtest.Numbered(need.MaxInput/10, "a%07x,\n")+"]}}}", ""), ""},
	"required":                    {shortCSV + definitionWith("{type: object, required: ["+installtest.Numbered(need.MaxInput/10, "a%07x,\n")+"]}", ""), ""},
	"validations":                 {shortCSV + definitionWith("{type: object, properties: {a: {type: integer}}, x-kubernetes-validations: ["+strings.Repeat("{rule: 'self.a > 1                 '},\n", need.MaxInput/40)+"]}", ""), "more expressions in CEL"},
	"long validations":            {shortCSV + definitionWith("{type: object, properties: {a: {type: integer}}, x-kubernetes-validations: ["+strings.Repeat("{rule: '"+strings.Repeat("self.a > 1 || ", 350)+"true'},\n", need.MaxInput/5000)+"]}", ""), "more expressions in CEL"},
	"nested validations":          {shortCSV + definitionWith("{type: object, properties: {a: {type: array, items: {type: string}}}, x-kubernetes-validations: ["+strings.Repeat("{rule: '"+strings.Repeat("self.a.all(x, ", 50)+"true"+strings.Repeat(")", 50)+"'},\n", need.MaxInput/800)+"]}", ""), "more expressions in CEL"},
	"printer columns":             {shortCSV + strings.Replace(definitionWith("{type: object}", ""), "served: true,", "served: true, additionalPrinterColumns: ["+installtest.Numbered(need.MaxInput/46, "{name: a%07x, type: string, jsonPath: .a.b},\n")+"],", 1), ""},
	"JSON paths":                  {shortCSV + strings.Replace(definitionWith("{type: object}", ""), "served: true,", "served: true, additionalPrinterColumns: [{name: a, type: string, jsonPath: '"+strings.Repeat(".a[0]", need.MaxInput/6-100)+"'}],", 1), ""},
}

func clusterRole(labels, rules string) string {
	return "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a, labels: {" + labels + "}}\n" + rules + "\n"
}

func boundTo(users int) string {
	return "---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: a}\nroleRef: {kind: ClusterRole, name: a}\nsubjects: [" + installtest.Numbered(users, "{kind: User, name: u%x},") + "]\n"
}

func definitionWith(schema, versions string) string {
	return "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: goods.a.b}\n" +
		"spec: {group: a.b, scope: Namespaced, names: {kind: Good, plural: goods}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: " + schema + "}}," + versions + "]}\n"
}

// Each attack is validated, rendered and shown within the limits, and what is not checked is a finding.
func TestAttacks(t *testing.T) {
	all(t, bundle.InspectFS(fstest.MapFS{"manifests/a.yaml": {Data: []byte(smallCSV + smallDefinition)}}, "warm")) // Schemas and environments are created once.
	for name, attack := range attacks {
		t.Run(name, func(t *testing.T) {
			files := fstest.MapFS{"manifests/a.yaml": {Data: []byte(attack.text)}}
			var report Report
			need.Limited(t, func() { report = all(t, bundle.InspectFS(files, "attack")) })
			installtest.Contains(t, fmt.Sprint(report.Findings), attack.contains)
		})
	}
}

// all does what the commands do with a bundle, without a cluster.
func all(t testing.TB, b *bundle.Bundle) Report {
	t.Helper()
	report := Run(b)
	report.Print(output.New(io.Discard))
	if b.Err() != nil {
		return report
	}
	b.CSV.Spec.InstallModes = []operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true}}
	manifests, err := bundle.Manifests(b, bundle.Options{})
	var refused *bundle.RefusedError
	switch {
	case errors.As(err, &refused):
		manifests = refused.Manifests
	case err != nil && !strings.Contains(err.Error(), "two objects") && !strings.Contains(err.Error(), "shorten it"):
		t.Errorf("it is not shown: %v", err)
	}
	if len(manifests) > 0 {
		show.Of(b, manifests).Print(output.New(io.Discard))
	}
	return report
}
