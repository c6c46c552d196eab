package lint

import (
	"iter"
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

// maxRequests is how many requests are looked at. Each is compared with the rules that may name it.
const maxRequests = 2000

// requests are those that the rules of all webhooks name, each once. It returns no more than one
// above maxRequests.
func (s *subject) requests() []request {
	var all []request
	known := map[request]bool{}
	for _, w := range s.admission() {
		for _, rule := range w.Rules {
			for r := range requestsOf(rule) {
				if len(all) > maxRequests {
					return all
				}
				if !known[r] {
					known[r] = true
					all = append(all, r)
				}
			}
		}
	}
	return all
}

func requestsOf(rule admissionregistrationv1.RuleWithOperations) iter.Seq[request] {
	operations := rule.Operations
	if slices.Contains(operations, admissionregistrationv1.OperationAll) {
		operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete, admissionregistrationv1.Connect}
	}
	return func(yield func(request) bool) {
		for _, operation := range operations {
			for _, group := range rule.APIGroups {
				for _, version := range rule.APIVersions {
					for _, resource := range rule.Resources {
						name, subresource, _ := strings.Cut(resource, "/")
						if !yield(request{operation, schema.GroupVersionResource{Group: group, Version: version, Resource: name}, subresource}) {
							return
						}
					}
				}
			}
		}
	}
}

// calls finds the webhooks that may be called for a request. Only those are compared with it whose
// rules name its group and resource, or an asterisk.
type calls struct {
	webhooks []webhook
	by       map[schema.GroupResource][]int // indexes, in order
}

func callsOf(webhooks []webhook) calls {
	c := calls{webhooks, map[schema.GroupResource][]int{}}
	for i, w := range webhooks {
		for _, key := range named(w) {
			if at := c.by[key]; len(at) == 0 || at[len(at)-1] != i {
				c.by[key] = append(at, i)
			}
		}
	}
	return c
}

// named are the groups and resources that the rules of a webhook name, without subresources.
func named(w webhook) []schema.GroupResource {
	var all []schema.GroupResource
	for _, rule := range w.Rules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				name, _, _ := strings.Cut(resource, "/")
				all = append(all, schema.GroupResource{Group: group, Resource: name})
			}
		}
	}
	return all
}

// of returns the webhooks that may be called for a request, in their order.
func (c calls) of(r request) []webhook {
	var near []int
	for _, group := range slices.Compact([]string{r.resource.Group, "*"}) {
		for _, resource := range slices.Compact([]string{r.resource.Resource, "*"}) {
			near = append(near, c.by[schema.GroupResource{Group: group, Resource: resource}]...)
		}
	}
	slices.Sort(near)
	attributes := admission.NewAttributesRecord(nil, nil, schema.GroupVersionKind{}, "", "", r.resource, r.subresource, admission.Operation(r.operation), nil, false, nil)
	var called []webhook
	for _, i := range slices.Compact(near) {
		if callsFor(c.webhooks[i], attributes) {
			called = append(called, c.webhooks[i])
		}
	}
	return called
}

// callsFor reports whether a webhook may be called for a request, as API servers decide it.
func callsFor(w webhook, attributes admission.Attributes) bool {
	return slices.ContainsFunc(w.Rules, func(rule admissionregistrationv1.RuleWithOperations) bool {
		rule.Scope = nil // who names a resource knows its scope
		if ptr.Deref(w.MatchPolicy, admissionregistrationv1.Equivalent) == admissionregistrationv1.Equivalent {
			rule.APIVersions = []string{"*"}
		}
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
