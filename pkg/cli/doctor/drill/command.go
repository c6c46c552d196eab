package drill

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operation is one of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch returns the JSON patch that makes a change of a webhook, if it still has its index.
func (r registered) patch(c Change) []operation {
	at := fmt.Sprintf("/webhooks/%d/", r.index)
	all := []operation{{"test", at + "name", r.webhook.Name}}
	switch c.Kind {
	case NamespaceSelector:
		return append(all, operation{"add", at + "namespaceSelector", leavingOut(r.webhook.NamespaceSelector, corev1.LabelMetadataName, c.namespaces...)})
	case ObjectSelector:
		return append(all, operation{"add", at + "objectSelector", leavingOut(r.webhook.ObjectSelector, c.key, c.values...)})
	case FailurePolicy:
		return append(all, operation{"add", at + "failurePolicy", admissionregistrationv1.Ignore})
	case MatchCondition:
		conditions := append([]admissionregistrationv1.MatchCondition{}, r.webhook.MatchConditions...)
		return append(all, operation{"add", at + "matchConditions", append(conditions, admissionregistrationv1.MatchCondition{Name: "not-nodes", Expression: c.condition})})
	default:
		return nil
	}
}

// command is the patch as a command. No name in it has a quote.
func (r registered) command(c Change) string {
	text, err := json.Marshal(r.patch(c))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("kubectl patch %s %s --type=json -p '%s'", strings.ToLower(c.Webhook.Kind), c.Webhook.Name, strings.ReplaceAll(string(text), "'", `'\''`))
}

// leavingOut returns a selector that also leaves out some values of a label.
func leavingOut(s *metav1.LabelSelector, key string, values ...string) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	if s != nil {
		selector = s.DeepCopy()
	}
	for i, e := range selector.MatchExpressions {
		if e.Key == key && e.Operator == metav1.LabelSelectorOpNotIn {
			selector.MatchExpressions[i].Values = slices.Concat(e.Values, values)
			return selector
		}
	}
	selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
		Key: key, Operator: metav1.LabelSelectorOpNotIn, Values: values,
	})
	return selector
}
