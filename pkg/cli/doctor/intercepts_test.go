package doctor

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Rules are named without building their combinations: a few of them, and how many there are.
func TestIntercepts(t *testing.T) {
	items := func(n int, text string) []string {
		return installtest.Times(n, func(i int) string { return fmt.Sprintf("%s%d", text, i) })
	}
	rule := func(groups, resources []string) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE"}, Rule: admissionregistrationv1.Rule{APIGroups: groups, Resources: resources},
		}
	}
	pods := rule([]string{""}, []string{"pods"})
	for name, c := range map[string]struct {
		webhook Webhook
		want    string
	}{
		"one":        {Webhook{Rules: []admissionregistrationv1.RuleWithOperations{pods}}, "CREATE, UPDATE of pods"},
		"two groups": {Webhook{Rules: []admissionregistrationv1.RuleWithOperations{rule([]string{"", "apps"}, []string{"pods", "*"})}}, "CREATE, UPDATE of pods, *, pods.apps, *.apps"},
		"selected": {Webhook{Rules: []admissionregistrationv1.RuleWithOperations{pods}, NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}},
			"CREATE, UPDATE of pods in the namespaces that it selects"},
		"many rules": {Webhook{Rules: []admissionregistrationv1.RuleWithOperations{pods, pods, pods, pods, pods, pods, pods}},
			strings.Repeat("CREATE, UPDATE of pods; ", 5) + "and by 2 more rules"},
		"many combinations": {Webhook{Rules: []admissionregistrationv1.RuleWithOperations{rule(items(30_000, "g"), items(30_000, "r"))}},
			"CREATE, UPDATE of r0.g0, r1.g0, r2.g0, r3.g0, r4.g0 and 899999995 more"},
		"a long name": {Webhook{Rules: []admissionregistrationv1.RuleWithOperations{rule([]string{""}, []string{strings.Repeat("r", 1<<20)})}},
			"CREATE, UPDATE of " + strings.Repeat("r", longName-4) + " …"},
	} {
		installtest.Same(t, name+": requests", c.want, intercepts(c.webhook))
	}
}
