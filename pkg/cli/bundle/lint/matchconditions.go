package lint

import (
	"fmt"
	"strings"
	"sync"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	celenvironment "k8s.io/apiserver/pkg/cel/environment"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/celbudget"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

var conditionsPath = annotation(wellknown.AnnotationMatchConditions)

// invalidConditions leaves to the check match-conditions what the manager refuses.
func invalidConditions(s *subject) {
	authored, err := csvspec.MatchConditions(s.CSV)
	if err != nil {
		return
	}
	var budget celbudget.Budget
	for _, w := range s.admission() {
		refused := func(what, remedy string) {
			s.reportCSV(conditionsPath, fmt.Sprintf("the API server refuses to register the webhook %q: %s", w.GenerateName, what), remedy)
		}
		conditions := authored[w.GenerateName]
		if len(conditions) == 0 {
			continue
		}
		if own := len(s.exempted(w.WebhookDescription)); len(conditions)+own > maxConditions {
			refused(fmt.Sprintf("with %d of the manager's own it has %d conditions, and may have %d", own, len(conditions)+own, maxConditions), "join some by &&")
			conditions = conditions[:min(len(conditions), maxConditions)]
		}
		for _, c := range conditions {
			if c.Name == "" || c.Expression == "" {
				continue
			}
			if messages := validation.IsQualifiedName(c.Name); len(messages) > 0 {
				refused(fmt.Sprintf("the name %q of a condition is invalid: %s", c.Name, strings.Join(messages, "; ")), "name it as a label is named")
			}
			if !budget.Spend(c.Expression) {
				s.reportAt(Warning, s.CSVObject, conditionsPath, budget.Exceeded("the conditions of the webhooks"), "write fewer or shorter conditions")
				return
			}
			if why := uncompiled(c); why != "" {
				refused(fmt.Sprintf("condition %q: %s", c.Name, why), "correct the expression")
			}
		}
	}
}

const maxConditions = 64

// conditionCompiler is that of API servers, which also accept what the previous version understands.
var conditionCompiler = sync.OnceValue(func() cel.Compiler {
	return cel.NewCompiler(celenvironment.MustBaseEnvSet(celenvironment.DefaultCompatibilityVersion()))
})

func uncompiled(c admissionregistrationv1.MatchCondition) string {
	c.Expression = strings.TrimSpace(c.Expression)
	if c.Expression == "" {
		return "the expression is empty"
	}
	result := conditionCompiler().CompileCELExpression(new(matchconditions.MatchCondition(c)), cel.OptionalVariableDeclarations{HasAuthorizer: true}, celenvironment.NewExpressions)
	if result.Error == nil {
		return ""
	}
	var lines []string
	for line := range strings.Lines(result.Error.Detail) {
		if !strings.HasPrefix(line, " | ") { // the repeated expression and its pointer
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "; ")
}
