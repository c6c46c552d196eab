package judge

import (
	"cmp"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// neverWeaker is I4. Its author has changed a registration if a client that is an author wrote a ClusterServiceVersion of its namespace
// within the last minute.
func neverWeaker(c *cluster, e history.Event, report reporter) {
	w := e.Write
	if w == nil || w.Before == nil || !c.is(w.Client, history.Manager) || c.holds(history.Ordered, e.At, w.Object) {
		return
	}
	now := c.registrationsOf(w.Object, w.After)
	for _, before := range c.registrationsOf(w.Object, w.Before) {
		if c.isAuthored(before.service.Namespace, e.At) || before.admission == nil {
			continue
		}
		after, exists := find(now, before.webhook)
		if !exists {
			report(w.Object, "%s is unregistered", before.webhook)
			continue
		}
		for _, how := range weakened(*before.admission, *after.admission) {
			report(w.Object, "%s is weaker: %s", before.webhook, how)
		}
	}
}

// isAuthored reports whether an author has changed a ClusterServiceVersion of a namespace, or none exists in it any more.
func (c *cluster) isAuthored(namespace string, at time.Time) bool {
	if last, ever := c.authored[namespace]; ever && at.Sub(last) <= time.Minute {
		return true
	}
	for key, object := range c.objects {
		var csv metav1.PartialObjectMetadata
		if key.Kind == "ClusterServiceVersion" && key.Namespace == namespace && into(object, &csv) && csv.DeletionTimestamp == nil {
			return false
		}
	}
	return true
}

// weakened returns in which ways a webhook intercepts less than before.
func weakened(before, after admission) []string {
	var all []string
	if failurePolicy(before) == admissionregistrationv1.Fail && failurePolicy(after) == admissionregistrationv1.Ignore {
		all = append(all, "failurePolicy is Ignore")
	}
	if lost := missing(combinations(before.Rules), combinations(after.Rules)); len(lost) > 0 {
		all = append(all, "the rules lack "+strings.Join(lost, ", "))
	}
	if added := missing(requirements(after.NamespaceSelector), requirements(before.NamespaceSelector)); len(added) > 0 {
		all = append(all, "namespaceSelector requires "+strings.Join(added, ", "))
	}
	if added := missing(requirements(after.ObjectSelector), requirements(before.ObjectSelector)); len(added) > 0 {
		all = append(all, "objectSelector requires "+strings.Join(added, ", "))
	}
	if added := missing(conditions(after), conditions(before)); len(added) > 0 {
		all = append(all, "matchConditions require "+strings.Join(added, ", "))
	}
	return all
}

func failurePolicy(a admission) admissionregistrationv1.FailurePolicyType {
	if a.FailurePolicy == nil {
		return admissionregistrationv1.Fail
	}
	return *a.FailurePolicy
}

// combinations returns what rules match, each operation, group, version and resource on its own.
func combinations(rules []admissionregistrationv1.RuleWithOperations) []string {
	var all []string
	for _, r := range rules {
		scope := admissionregistrationv1.AllScopes
		if r.Scope != nil {
			scope = *r.Scope
		}
		for _, operation := range r.Operations {
			for _, group := range r.APIGroups {
				for _, version := range r.APIVersions {
					for _, resource := range r.Resources {
						all = append(all, strings.Join([]string{string(operation), cmp.Or(group, "core"), version, resource, string(scope)}, " "))
					}
				}
			}
		}
	}
	return all
}

// requirements returns what a selector requires, each requirement on its own.
func requirements(s *metav1.LabelSelector) []string {
	if s == nil {
		return nil
	}
	var all []string
	for key, value := range s.MatchLabels {
		all = append(all, key+"="+value)
	}
	for _, r := range s.MatchExpressions {
		all = append(all, strings.TrimSpace(strings.Join([]string{r.Key, string(r.Operator), strings.Join(r.Values, ",")}, " ")))
	}
	return all
}

func conditions(a admission) []string {
	var all []string
	for _, m := range a.MatchConditions {
		all = append(all, m.Expression)
	}
	return all
}

// missing returns, in order, the elements of one list that another lacks.
func missing(all, from []string) []string {
	found := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(from, s) })
	slices.Sort(found)
	return slices.Compact(found)
}
