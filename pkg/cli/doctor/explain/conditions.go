package explain

import (
	"context"

	celgo "github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
)

// conditions are the matchConditions of a webhook or policy. Only a policy has variables and a parameter.
type conditions struct {
	all       []admissionregistrationv1.MatchCondition
	variables []admissionregistrationv1.Variable
	hasParams bool
}

// result is what conditions are for a request. The zero value is that one of them fails to answer.
type result struct {
	matches bool
	// isFalse is the name of a condition that is false.
	isFalse string
	err     error
	// unanswered are questions whose answers the snapshot lacks: the rest of the result may be wrong.
	unanswered []Access
}

// compiled are conditions for any request.
type compiled struct {
	evaluator cel.ConditionEvaluator
	err       error
}

// evaluate uses the packages of the API server. A failing expression is in err, for each failurePolicy.
func (c compiled) evaluate(attr *admission.VersionedAttributes, param runtime.Object, access map[Access]bool) result {
	if c.err != nil {
		return result{err: c.err}
	}
	var unanswered []Access
	answer := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		asked := question(a)
		allowed, known := access[asked]
		switch {
		case !known:
			unanswered = append(unanswered, asked)
			return authorizer.DecisionNoOpinion, "", nil
		case allowed:
			return authorizer.DecisionAllow, "", nil
		default:
			return authorizer.DecisionNoOpinion, "", nil
		}
	})
	closed := admissionregistrationv1.Fail
	matcher := matchconditions.NewMatcher(c.evaluator, &closed, "", "", "")
	matched := matcher.Match(context.Background(), attr, param, answer)
	return result{matches: matched.Matches, isFalse: matched.FailedConditionName, err: matched.Error, unanswered: unanswered}
}

// variable is a variable of a policy, for the compiler of the API server.
type variable admissionregistrationv1.Variable

func (v variable) GetName() string            { return v.Name }
func (v variable) GetExpression() string      { return v.Expression }
func (v variable) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.AnyType, celgo.DynType} }

func (c conditions) compile() compiled {
	expressions := make([]cel.ExpressionAccessor, 0, len(c.all))
	for _, condition := range c.all {
		expressions = append(expressions, (*matchconditions.MatchCondition)(&condition))
	}
	declared := cel.OptionalVariableDeclarations{HasParams: c.hasParams, HasAuthorizer: true}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return compiled{err: err}
	}
	variables := make([]cel.NamedExpressionAccessor, 0, len(c.variables))
	for _, v := range c.variables {
		variables = append(variables, variable(v))
	}
	compiler.CompileAndStoreVariables(variables, declared, environment.StoredExpressions)
	return compiled{evaluator: compiler.CompileCondition(expressions, declared, environment.StoredExpressions)}
}
