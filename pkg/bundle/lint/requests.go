package lint

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/utils/ptr"
)

// request is one that a rule names. What an asterisk stands for bears the asterisk as its name.
type request struct {
	operation   admissionregistrationv1.OperationType
	resource    schema.GroupVersionResource
	subresource string
}

// requests are those that the rules of all webhooks name.
func (s *subject) requests() []request {
	var all []request
	for _, w := range s.admission() {
		for _, rule := range w.Rules {
			all = append(all, requestsOf(rule)...)
		}
	}
	return all
}

func requestsOf(rule admissionregistrationv1.RuleWithOperations) []request {
	operations := rule.Operations
	if slices.Contains(operations, admissionregistrationv1.OperationAll) {
		operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete, admissionregistrationv1.Connect}
	}
	var all []request
	for _, operation := range operations {
		for _, group := range rule.APIGroups {
			for _, version := range rule.APIVersions {
				for _, resource := range rule.Resources {
					name, subresource, _ := strings.Cut(resource, "/")
					all = append(all, request{operation, schema.GroupVersionResource{Group: group, Version: version, Resource: name}, subresource})
				}
			}
		}
	}
	return all
}

// calls tells whether a webhook may be called for the request, as API servers decide it.
func (r request) calls(w webhook) bool {
	return slices.ContainsFunc(w.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		rule.Scope = nil // who names a resource knows its scope
		if ptr.Deref(w.MatchPolicy, admissionregistrationv1.Equivalent) == admissionregistrationv1.Equivalent {
			rule.APIVersions = []string{"*"}
		}
		attributes := admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "", "", r.resource, r.subresource, admission.Operation(r.operation), nil, false, nil)
		matcher := rules.Matcher{Rule: rule, Attr: attributes}
		return matcher.Matches()
	})
}

// String is the request as people name it: create pods, update deployments.apps/status.
func (r request) String() string {
	name := r.resource.GroupResource().String()
	if r.subresource != "" {
		name += "/" + r.subresource
	}
	return strings.ToLower(string(r.operation)) + " " + name
}
