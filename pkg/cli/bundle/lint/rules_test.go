package lint

import (
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// A namespaceSelector limits Namespaces, and not what is in none: what is found for an operator of one namespace.
func TestBeyondOneNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		resources, operations, want []any
		scope                       string
	}{
		"new Namespaces":         {list("namespaces"), list("CREATE"), list("namespaces-unlabelled"), "Cluster"},
		"Namespaces there are":   {list("namespaces"), list("UPDATE", "DELETE"), nil, "*"},
		"states of Namespaces":   {list("namespaces/status"), list("*"), nil, "*"},
		"persistent volumes":     {list("persistentvolumes"), list("CREATE"), list("scope-escapes"), "*"},
		"pods":                   {list("pods"), list("CREATE"), nil, "*"},
		"everything":             {list("*"), list("UPDATE"), list("scope-escapes"), "*"},
		"everything, new":        {list("*"), list("CREATE"), list("namespaces-unlabelled", "scope-escapes"), "*"},
		"everything new, inside": {list("*"), list("CREATE"), nil, "Namespaced"},
	} {
		t.Run(name, func(t *testing.T) {
			f := readFiles(t, "../../../../examples/projectpolicy/bundle")
			f.modes("OwnNamespace")
			f.rule()["apiGroups"], f.rule()["resources"], f.rule()["operations"], f.rule()["scope"] = list(""), c.resources, c.operations, c.scope
			found := lists.FilterMap(codes(Run(inspect(t, f))), func(code string) (any, bool) { return code, code == "scope-escapes" || code == "namespaces-unlabelled" })
			installtest.Same(t, "found", c.want, found)
		})
	}
}

// The meaning of an asterisk is reported as the API server reads it.
func TestWildcardsAreReadAsTheAPIServerDoes(t *testing.T) {
	const newer = ", also for resources of newer versions"
	for name, c := range map[string]struct {
		resources []any
		want      []string
	}{
		"all resources":                {list("*"), []string{"the webhook is called for every resource of apps" + newer}},
		"all, and all that is below":   {list("*/*"), []string{"the webhook is called for every resource and every subresource of apps" + newer}},
		"the state of all":             {list("*/status"), []string{"the webhook is called for the subresource status of every resource of apps that has it" + newer}},
		"the state and scale of all":   {list("*/status", "*/scale"), []string{"the webhook is called for the subresource status and scale of every resource of apps that has it" + newer}},
		"all that is below one":        {list("deployments/*"), []string{"the webhook is called for deployments and every subresource" + newer}},
		"all, and the state of all":    {list("*", "*/status"), []string{"every resource of apps" + newer, "the subresource status of every resource"}},
		"what is named, and the state": {list("deployments", "deployments/status"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := readFiles(t, "../../../../examples/projectpolicy/bundle")
			f.rule()["apiGroups"], f.rule()["resources"] = list("apps"), c.resources
			said := lists.Map(findingsOf(inspect(t, f), "wildcard-rule"), func(f Finding) string { return f.What })
			installtest.ContainsEach(t, said, c.want)
		})
	}
}

// Resources that nothing depends on cause no finding.
func TestCoreResources(t *testing.T) {
	for name, c := range map[string]struct {
		group     string
		resources []any
		want      string
	}{
		"pods":                               {"", list("pods", "pods/status", "pods/binding", "pods/eviction", "pods/resize"), "pods, pods/status, pods/binding, pods/eviction, pods/resize"},
		"what is below pods":                 {"", list("pods/*"), "pods/*"},
		"what is connected to":               {"", list("pods/exec", "pods/log", "nodes/proxy"), ""},
		"what is for people":                 {"", list("pods/ephemeralcontainers", "limitranges", "events"), ""},
		"tokens":                             {"", list("serviceaccounts/token"), "serviceaccounts/token"},
		"what quotas count":                  {"", list("resourcequotas/status"), "resourcequotas/status"},
		"quotas, which administrators write": {"", list("resourcequotas"), ""},
		"what makes pods":                    {"", list("replicationcontrollers"), "replicationcontrollers"},
		"all states":                         {"", list("*/status"), "*/status"},
		"certificates":                       {"certificates.k8s.io", list("certificatesigningrequests/approval", "clustertrustbundles"), "certificatesigningrequests/approval.certificates.k8s.io"},
		"permissions":                        {"rbac.authorization.k8s.io", list("*"), "*.rbac.authorization.k8s.io"},
		"definitions":                        {"apiextensions.k8s.io", list("customresourcedefinitions"), "customresourcedefinitions.apiextensions.k8s.io"},
		"APIServices":                        {"apiregistration.k8s.io", list("apiservices/status"), "apiservices/status.apiregistration.k8s.io"},
		"who calls":                          {"authentication.k8s.io", list("tokenreviews", "selfsubjectreviews"), "tokenreviews.authentication.k8s.io"},
		"what he may do":                     {"authorization.k8s.io", list("subjectaccessreviews", "selfsubjectaccessreviews"), "subjectaccessreviews.authorization.k8s.io"},
		"volumes":                            {"storage.k8s.io", list("volumeattachments", "storageclasses"), "volumeattachments.storage.k8s.io"},
		"resources of the operator's own":    {"shop.example.com", list("*", "pods"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := readFiles(t, "../../../../examples/projectpolicy/bundle")
			f.modes("AllNamespaces")
			delete(f.webhook(), "objectSelector")
			f.webhook()["rules"] = list(f.rule()) // The others are for the subresources of namespaces.
			f.rule()["apiGroups"], f.rule()["resources"], f.rule()["scope"] = list(c.group), c.resources, "*"
			got := ""
			for _, finding := range Run(inspect(t, f)).Findings {
				if finding.Code == "fail-on-core" {
					got, _, _ = strings.Cut(strings.TrimPrefix(finding.What, "while the webhook does not answer, no client can write "), ":")
				}
			}
			installtest.Same(t, "found", c.want, got)
		})
	}
}

func TestSystemResources(t *testing.T) {
	reach := rules.Reach{Namespaced: []string{"pods/status", "deployments.apps/scale", "roles.rbac.authorization.k8s.io", "orders.shop.example.com", "ingresses.networking.k8s.io"}}
	installtest.Same(t, "system resources", []string{"pods/status", "deployments.apps/scale", "roles.rbac.authorization.k8s.io"}, systemResources(reach))
}

// What is found in rules, where nothing is known but Kubernetes and the bundle.
func TestRulesThatMatchNothing(t *testing.T) {
	for name, c := range map[string]struct {
		groups, versions, resources []any
		want                        []string
	}{
		"Namespaces":                    {list(""), list("v1"), list("namespaces"), nil},
		"what the bundle brings":        {list("projectpolicy.example.com"), list("*"), list("projectpolicies", "projectpolicies/status"), nil},
		"endpoints and ingresses":       {list("", "networking.k8s.io"), list("v1"), list("endpoints", "ingresses", "networkpolicies"), nil},
		"definitions":                   {list("apiextensions.k8s.io"), list("v1"), list("customresourcedefinitions"), nil},
		"APIServices":                   {list("apiregistration.k8s.io"), list("v1"), list("apiservices"), nil},
		"every resource":                {list("apps"), list("*"), list("*", "*/status"), nil},
		"a subresource":                 {list(""), list("v1"), list("pods/exec", "pods/eviction", "serviceaccounts/token"), nil},
		"what another brings":           {list("kafka.strimzi.io"), list("v1"), list("kafkas"), nil},
		"a version of another":          {list("gateway.networking.k8s.io"), list("v1"), list("gateways"), nil},
		"an experiment of Kubernetes":   {list("scheduling.x-k8s.io"), list("v1"), list("podgroups"), nil},
		"a kind":                        {list(""), list("v1"), list("Namespace"), []string{`there is no resource "Namespace" in the core API group`, `write its plural, "namespaces"`}},
		"a kind of the bundle":          {list("projectpolicy.example.com"), list("*"), list("projectpolicy"), []string{`"projectpolicy"`, `write its plural, "projectpolicies"`}},
		"a slip":                        {list("apps"), list("v1"), list("deployment s"), []string{`"deployment s"`, `write "deployments"`}},
		"a group of no domain":          {list("shop"), list("v1"), list("orders"), []string{`the group "shop"`, "without the version"}},
		"a group's slip":                {list("projectpolcy.example.com"), list("v1"), list("projectpolicies"), []string{`the group "projectpolcy.example.com"`, `write "projectpolicy.example.com" in apiGroups`}},
		"the core group by a name":      {list("core"), list("v1"), list("pods"), []string{`the group "core"`, `write "" in apiGroups`}},
		"a version of Kubernetes":       {list("apps"), list("v2"), list("deployments"), []string{`is not served in v2`, "v1"}},
		"the kind of another":           {list("kafka.strimzi.io"), list("v1"), list("Kafka"), []string{`"Kafka"`, "write the plural"}},
		"the resource of another group": {list("apps"), list("v1"), list("cronjobs"), []string{`there is no resource "cronjobs" in API group "apps"`, `write "batch" in apiGroups`}},
	} {
		t.Run(name, func(t *testing.T) {
			f := readFiles(t, "../../../../examples/projectpolicy/bundle")
			f.rule()["apiGroups"], f.rule()["apiVersions"], f.rule()["resources"], f.rule()["scope"] = c.groups, c.versions, c.resources, "*"
			found := lists.Map(findingsOf(inspect(t, f), "rule-matches-nothing"), func(f Finding) string { return f.What + ": " + f.Remedy })
			if len(found) != min(1, len(c.want)) {
				t.Fatalf("found is %q", found)
			}
			installtest.Contains(t, strings.Join(found, ""), c.want...)
		})
	}
}
