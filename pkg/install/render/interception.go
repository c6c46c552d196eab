package render

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
)

// Interception describes for users which requests a webhook intercepts.
type Interception struct {
	// Text is a phrase such as "CREATE of pods in all namespaces".
	Text string
	// BeyondScope are intercepted cluster-scoped resources, if the OperatorGroup is narrower.
	BeyondScope []string
	Exempt      []string
}

func interceptionOf(in Input, d operatorsv1alpha1.WebhookDescription) Interception {
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		return Interception{Text: "reading and writing of " + strings.Join(d.ConversionCRDs, ", ") + " in another version than the stored one"}
	}
	var i Interception
	var parts []string
	for _, rule := range d.Rules {
		reach := rules.ReachOf(rule, in.Definitions...)
		parts = append(parts, operations(rule)+" of "+strings.Join(whereabouts(in, reach), ", and of "))
		if !slices.Contains(in.Scope.Namespaces, metav1.NamespaceAll) {
			i.BeyondScope = append(i.BeyondScope, reach.Escaping...)
		}
	}
	i.Text = strings.Join(parts, "; ")
	if d.ObjectSelector != nil && len(d.ObjectSelector.MatchLabels)+len(d.ObjectSelector.MatchExpressions) > 0 {
		i.Text += "; only objects with the labels " + metav1.FormatLabelSelector(d.ObjectSelector)
	}
	i.Exempt = lists.Map(in.exempted(d), func(e exemptions.Exemption) string { return e.What })
	return i
}

func operations(rule admissionregistrationv1.RuleWithOperations) string {
	if slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
		return "every operation"
	}
	return strings.Join(lists.Texts(rule.Operations), ", ")
}

// whereabouts formats the resources that a rule matches, with their namespaces.
func whereabouts(in Input, r rules.Reach) []string {
	everywhere := slices.Contains(in.Scope.Namespaces, metav1.NamespaceAll)
	namespaces := "in all namespaces"
	if !everywhere {
		namespaces = fmt.Sprintf("in the namespaces of OperatorGroup %s", in.Scope.Group.Name)
	}
	var parts []string
	add := func(resources []string, where string) {
		if len(resources) > 0 {
			parts = append(parts, strings.Join(resources, ", ")+" "+where)
		}
	}
	add(r.Namespaced, namespaces)
	if everywhere {
		add(r.Unknown, "everywhere")
	} else {
		add(r.Unknown, namespaces+", and everywhere if they are in no namespace")
	}
	add(r.ClusterScoped, "in the whole cluster")
	if r.Namespaces && everywhere {
		parts = append(parts, "Namespaces")
	} else if r.Namespaces {
		parts = append(parts, "Namespaces that have the group's labels")
	}
	if len(parts) == 0 {
		return []string{"nothing"}
	}
	return parts
}
