package explain

import (
	"context"
	"errors"
	"slices"
	"sync"

	celgo "github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
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
	// depends has the fields without a known value that the result depends on; empty if the result is known.
	depends []string
}

// compiled are conditions for any request.
type compiled struct {
	evaluator cel.ConditionEvaluator
	// wrapped is what few requests need.
	wrapped func() (cel.ConditionEvaluator, error)
	reads   []read
	err     error
}

// evaluate returns the result for all values of open fields, and names what it depends on if there is more than one.
func (c compiled) evaluate(attr *admission.VersionedAttributes, param runtime.Object, access map[Access]bool, fields []openField) result {
	if c.err != nil {
		return result{err: c.err}
	}
	fields = lists.Filter(fields, func(f openField) bool { return slices.ContainsFunc(c.reads, f.related) })
	if slices.ContainsFunc(fields, func(f openField) bool { return f.path[0] == cel.RequestVarName }) {
		if c.evaluator, c.err = c.wrapped(); c.err != nil {
			return result{err: c.err}
		}
	}
	all, err := variants(attr, fields, c.reads)
	if err != nil {
		return result{err: err}
	}
	first := c.variant(all[0], param, access)
	for _, other := range all[1:] {
		next := c.variant(other, param, access)
		first.unanswered = append(first.unanswered, next.unanswered...)
		first.depends = append(first.depends, next.depends...)
		if next.matches != first.matches || (next.err == nil) != (first.err == nil) {
			first.depends = append(first.depends, lists.FilterMap(fields, func(f openField) (string, bool) { return f.String(), f.optional })...)
		}
	}
	first.depends = lists.Distinct(first.depends)
	return first
}

// variant uses the packages of the API server. A failing expression is in err, for each failurePolicy.
func (c compiled) variant(attr *admission.VersionedAttributes, param runtime.Object, access map[Access]bool) result {
	var unanswered []Access
	var depends []string
	answer := authorizer.AuthorizerFunc(func(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
		asked := question(a)
		allowed, known := access[asked]
		switch {
		case asked.Object == generatedName:
			depends = []string{requestName}
			return authorizer.DecisionNoOpinion, "", nil
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
	evaluator := &partial{ConditionEvaluator: c.evaluator}
	matched := matchconditions.NewMatcher(evaluator, &closed, "", "", "").Match(context.Background(), attr, param, answer)
	if matched.Error != nil {
		matched.Error = errors.New(unwrapped.Replace(matched.Error.Error()))
	}
	if matched.Matches || matched.Error != nil { // One false condition is enough.
		depends = append(depends, evaluator.depends...)
	}
	return result{matched.Matches, matched.FailedConditionName, matched.Error, unanswered, depends}
}

// variable is a variable of a policy, for the compiler of the API server.
type variable admissionregistrationv1.Variable

func (v variable) GetName() string            { return v.Name }
func (v variable) GetExpression() string      { return v.Expression }
func (v variable) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.AnyType, celgo.DynType} }

func (c conditions) compile() compiled {
	evaluator, err := c.evaluator()
	return compiled{evaluator, sync.OnceValues(c.wrapped().evaluator), c.reads(), err}
}

func (c conditions) evaluator() (cel.ConditionEvaluator, error) {
	expressions := make([]cel.ExpressionAccessor, 0, len(c.all))
	for _, condition := range c.all {
		expressions = append(expressions, (*matchconditions.MatchCondition)(&condition))
	}
	declared := cel.OptionalVariableDeclarations{HasParams: c.hasParams, HasAuthorizer: true}
	compiler, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return nil, err
	}
	variables := make([]cel.NamedExpressionAccessor, 0, len(c.variables))
	for _, v := range c.variables {
		variables = append(variables, variable(v))
	}
	compiler.CompileAndStoreVariables(variables, declared, environment.StoredExpressions)
	return compiler.CompileCondition(expressions, declared, environment.StoredExpressions), nil
}
