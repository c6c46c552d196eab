package requirements

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const (
	allGroups      = "webhook rules cannot include all groups"
	olmGroup       = "webhook rules cannot include the OLM group"
	ownGroup       = "webhook rules cannot include the olm-webhook-manager.io group"
	configurations = "webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources"

	admissionGroup = "admissionregistration.k8s.io"
)

func TestForbidden(t *testing.T) {
	for name, test := range map[string]struct {
		groups, resources []string
		want              string
	}{
		"an ordinary rule":            {[]string{"apps"}, []string{"deployments"}, ""},
		"the core group":              {[]string{""}, []string{"pods", "pods/status"}, ""},
		"all of an ordinary group":    {[]string{"apps"}, []string{"*/*"}, ""},
		"no groups":                   {nil, []string{"*"}, ""},
		"no resources":                {[]string{admissionGroup}, nil, ""},
		"a group below OLM's":         {[]string{"packages.operators.coreos.com"}, []string{"*"}, ""},
		"a group below the manager's": {[]string{"x.olm-webhook-manager.io"}, []string{"*"}, ""},

		"all groups":                            {[]string{"*"}, []string{"pods"}, allGroups},
		"all groups, all resources":             {[]string{"*"}, []string{"*/*"}, allGroups},
		"all groups, padded":                    {[]string{" * "}, []string{"pods"}, allGroups},
		"all groups among others":               {[]string{"apps", "*"}, []string{"pods"}, allGroups},
		"all groups and OLM's, in OLM's order":  {[]string{"operators.coreos.com", "*"}, []string{"*"}, allGroups},
		"OLM's group":                           {[]string{"operators.coreos.com"}, []string{"clusterserviceversions"}, olmGroup},
		"OLM's group, any of its resources":     {[]string{"operators.coreos.com"}, []string{"clusterserviceversions/*"}, olmGroup},
		"OLM's group, a resource it has not":    {[]string{"operators.coreos.com"}, []string{"x"}, olmGroup},
		"OLM's group, no resource":              {[]string{"operators.coreos.com"}, nil, olmGroup},
		"OLM's group in capitals":               {[]string{"Operators.CoreOS.com"}, []string{"*"}, olmGroup},
		"OLM's group, padded":                   {[]string{"\toperators.coreos.com "}, []string{"*"}, olmGroup},
		"OLM's group among others":              {[]string{"apps", "operators.coreos.com"}, []string{"*"}, olmGroup},
		"the manager's group":                   {[]string{"olm-webhook-manager.io"}, []string{"webhookrollouts"}, ownGroup},
		"the manager's group in capitals":       {[]string{"OLM-Webhook-Manager.io"}, []string{"webhookrollouts"}, ownGroup},
		"admission, all resources":              {[]string{admissionGroup}, []string{"*"}, configurations},
		"admission, all and subresources":       {[]string{admissionGroup}, []string{"*/*"}, configurations},
		"admission, a subresource of all":       {[]string{admissionGroup}, []string{"*/status"}, configurations},
		"mutating, plural":                      {[]string{admissionGroup}, []string{"mutatingwebhookconfigurations"}, configurations},
		"mutating, singular":                    {[]string{admissionGroup}, []string{"mutatingwebhookconfiguration"}, configurations},
		"mutating, kind":                        {[]string{admissionGroup}, []string{"MutatingWebhookConfiguration"}, configurations},
		"mutating, subresource":                 {[]string{admissionGroup}, []string{"mutatingwebhookconfigurations/status"}, configurations},
		"mutating, kind with subresource":       {[]string{admissionGroup}, []string{"MutatingWebhookConfigurations/status"}, configurations},
		"validating, plural":                    {[]string{admissionGroup}, []string{"validatingwebhookconfigurations"}, configurations},
		"validating, singular":                  {[]string{admissionGroup}, []string{"validatingwebhookconfiguration"}, configurations},
		"validating, kind":                      {[]string{admissionGroup}, []string{"ValidatingWebhookConfiguration"}, configurations},
		"validating, all subresources":          {[]string{admissionGroup}, []string{"validatingwebhookconfigurations/*"}, configurations},
		"validating, capitals":                  {[]string{admissionGroup}, []string{"VALIDATINGWEBHOOKCONFIGURATIONS"}, configurations},
		"validating, padded":                    {[]string{admissionGroup}, []string{" validatingwebhookconfigurations /x"}, configurations},
		"configurations among others":           {[]string{"apps", admissionGroup}, []string{"deployments", "mutatingwebhookconfigurations"}, configurations},
		"admission group in capitals":           {[]string{"AdmissionRegistration.K8s.io"}, []string{"*"}, configurations},
		"another admission resource":            {[]string{admissionGroup}, []string{"SomeOtherResource"}, ""},
		"admission policies":                    {[]string{admissionGroup}, []string{"validatingadmissionpolicies", "validatingadmissionpolicies/status"}, ""},
		"configurations as a subresource":       {[]string{admissionGroup}, []string{"x/mutatingwebhookconfigurations"}, ""},
		"configurations of another group":       {[]string{"example.com"}, []string{"mutatingwebhookconfigurations"}, ""},
		"a resource that begins like the plain": {[]string{admissionGroup}, []string{"mutatingwebhookconfigurationsets"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			message, wayOut := Forbidden(installtest.RuleOf(test.groups, test.resources))
			installtest.Same(t, "the message", test.want, message)
			installtest.Same(t, "there is a way out", message != "", wayOut != "")
		})
	}
}

func TestRuleViolations(t *testing.T) {
	harmless := installtest.RuleOf([]string{"apps"}, []string{"deployments"})
	everything := installtest.RuleOf([]string{"*"}, []string{"*"})
	olm := installtest.RuleOf([]string{"operators.coreos.com"}, []string{"*"})

	for name, test := range map[string]struct {
		webhooks []operatorsv1alpha1.WebhookDescription
		want     []Violation
	}{
		"none without webhooks": {},
		"none in harmless webhooks": {
			webhooks: []operatorsv1alpha1.WebhookDescription{
				installtest.WebhookOf("a.example.com", installtest.Validating, harmless, harmless),
				installtest.WebhookOf("b.example.com", installtest.Mutating, harmless),
			},
		},
		"every forbidden rule, in order": {
			webhooks: []operatorsv1alpha1.WebhookDescription{
				installtest.WebhookOf("a.example.com", installtest.Validating, harmless, everything, olm),
				installtest.WebhookOf("b.example.com", installtest.Mutating, harmless),
				installtest.WebhookOf("c.example.com", installtest.Mutating, olm),
			},
			want: []Violation{
				{ForbiddenRule, 0, "a.example.com", allGroups + `: spec.webhookdefinitions[0].rules[1] of "a.example.com" does`, "name the API groups that the webhook handles"},
				{ForbiddenRule, 0, "a.example.com", olmGroup + `: spec.webhookdefinitions[0].rules[2] of "a.example.com" does`, "remove operators.coreos.com from apiGroups"},
				{ForbiddenRule, 2, "c.example.com", olmGroup + `: spec.webhookdefinitions[2].rules[0] of "c.example.com" does`, "remove operators.coreos.com from apiGroups"},
			},
		},
		"a name repeated, for any type": {
			webhooks: []operatorsv1alpha1.WebhookDescription{
				installtest.WebhookOf("a.example.com", installtest.Validating, harmless),
				installtest.WebhookOf("b.example.com", installtest.Validating, harmless),
				installtest.WebhookOf("a.example.com", installtest.Mutating, harmless),
			},
			want: []Violation{
				{RepeatedName, 2, "a.example.com", `CSV contains repeated WebhookDescription name: spec.webhookdefinitions[0] and [2] both have generateName "a.example.com"`, "give each its own"},
			},
		},
		"a repeated name comes before its rules": {
			webhooks: []operatorsv1alpha1.WebhookDescription{
				installtest.WebhookOf("a.example.com", installtest.Validating, harmless),
				installtest.WebhookOf("a.example.com", installtest.Validating, olm),
			},
			want: []Violation{
				{RepeatedName, 1, "a.example.com", `CSV contains repeated WebhookDescription name: spec.webhookdefinitions[0] and [1] both have generateName "a.example.com"`, "give each its own"},
				{ForbiddenRule, 1, "a.example.com", olmGroup + `: spec.webhookdefinitions[1].rules[0] of "a.example.com" does`, "remove operators.coreos.com from apiGroups"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			csv := &operatorsv1alpha1.ClusterServiceVersion{}
			csv.Spec.WebhookDefinitions = test.webhooks
			installtest.Same(t, "violations", test.want, ruleViolations(csv))
		})
	}
}

// FuzzForbidden compares the guard with the API server's reading of rules: a protected resource's route is forbidden.
func FuzzForbidden(f *testing.F) {
	for _, groups := range []string{"*", "", "apps", "operators.coreos.com", "olm-webhook-manager.io", admissionGroup, "apps\n*"} {
		for _, resources := range []string{
			"*", "*/*", "*/status", "pods", "clusterserviceversions/*", "webhookrollouts",
			"mutatingwebhookconfigurations", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations/*", "a\nb/c",
		} {
			f.Add(groups, resources)
		}
	}
	f.Fuzz(func(t *testing.T, groups, resources string) {
		rule := installtest.RuleOf(strings.Split(groups, "\n"), strings.Split(resources, "\n"))
		message, _ := Forbidden(rule)
		for _, protected := range protectedRequests {
			if protected.isMatchedBy(rule) && message == "" {
				t.Errorf("groups %q, resources %q pass the guard and match %+v", rule.APIGroups, rule.Resources, protected)
			}
		}
	})
}

// request is what the API server matches a rule with.
type request struct{ group, resource, subresource string }

var protectedRequests = []request{
	{"operators.coreos.com", "clusterserviceversions", ""},
	{"operators.coreos.com", "clusterserviceversions", "status"},
	{"operators.coreos.com", "operatorgroups", ""},
	{"operators.coreos.com", "operatorgroups", "status"},
	{"operators.coreos.com", "subscriptions", ""},
	{"olm-webhook-manager.io", "webhookrollouts", ""},
	{"olm-webhook-manager.io", "webhookrollouts", "status"},
	{admissionGroup, "mutatingwebhookconfigurations", ""},
	{admissionGroup, "validatingwebhookconfigurations", ""},
}

// isMatchedBy follows the documentation of RuleWithOperations: "*" is every resource
// and no subresource, "*/*" is both, "x/*" is every subresource of x, "*/y" is y of
// every resource. The API server's matcher takes "x/*" and "*/*" for x itself as well.
func (r request) isMatchedBy(rule admissionregistrationv1.RuleWithOperations) bool {
	forGroup := false
	for _, group := range rule.APIGroups {
		forGroup = forGroup || group == "*" || group == r.group
	}
	path := r.resource
	if r.subresource != "" {
		path += "/" + r.subresource
	}
	for _, pattern := range rule.Resources {
		switch pattern {
		case path, "*/*", r.resource + "/*", "*/" + r.subresource:
			return forGroup
		case "*":
			if r.subresource == "" {
				return forGroup
			}
		}
	}
	return false
}
