package audit

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/cel/environment"
)

// condition is a matchCondition, or the expression of an opening. It is evaluated for a request of which parts are not known.
type condition struct {
	name    string
	program cel.Program
	failed  error // why it cannot be evaluated
}

func conditionOf(name, expression string) condition {
	program, err := compile(expression)
	return condition{name, program, err}
}

// compile declares the variables without types: API servers have checked the types.
func compile(expression string) (cel.Program, error) {
	env, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Env(environment.StoredExpressions)
	if err != nil {
		return nil, err
	}
	env, err = env.Extend(
		cel.Variable("object", cel.DynType), cel.Variable("oldObject", cel.DynType),
		cel.Variable("request", cel.DynType), cel.Variable("authorizer", cel.DynType),
	)
	if err != nil {
		return nil, err
	}
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.Program(ast, cel.EvalOptions(cel.OptPartialEval))
}

// past is a request of the past. Its user, its options and the stored object before it are not known.
type past struct {
	operation   admissionregistrationv1.OperationType
	subresource string
	object      Object
	// superseded reports whether the object has changed since: its content and its labels may have been others.
	superseded bool
	// mutating reports whether a mutating webhook gets the request: its object has no generated name yet.
	mutating bool
	// logged is the request in the audit log, or nil.
	logged *logged
}

// evaluate returns maybe if the result depends on what is not known.
func (c condition) evaluate(p past) truth {
	unknown := perhaps(fmt.Sprintf("the result of %s depends on what the object does not show, such as the user", c.name))
	if c.failed != nil {
		return perhaps(fmt.Sprintf("%s cannot be evaluated: %v", c.name, c.failed))
	}
	values, err := p.variables()
	if err != nil {
		return unknown
	}
	result, _, err := c.program.Eval(values)
	switch {
	case err != nil:
		return truth{of: maybe, reason: fmt.Sprintf("%s fails: %v", c.name, err), failed: true}
	case types.IsUnknown(result):
		return unknown
	case result == types.True:
		return isTrue
	default:
		return isFalse
	}
}

// variables are those of matchConditions. Patterns name what is not known. API servers omit empty fields.
func (p past) variables() (cel.PartialActivation, error) {
	kind, resource := p.object.Resource.Kind, p.object.Resource.GroupVersionResource
	named := map[string]any{"group": kind.Group, "version": kind.Version, "kind": kind.Kind}
	called := map[string]any{"group": resource.Group, "version": resource.Version, "resource": resource.Resource}
	request := map[string]any{
		"kind": named, "resource": called, "requestKind": named, "requestResource": called, "operation": string(p.operation), "dryRun": false,
	}
	values := map[string]any{"object": nil, "oldObject": nil, "authorizer": nil, "request": request}
	unknown := []*cel.AttributePatternType{cel.AttributePattern("authorizer"), ofRequest("options"), ofRequest("uid")}
	for field, value := range map[string]string{"subResource": p.subresource, "requestSubResource": p.subresource, "namespace": p.object.inNamespace(), "name": p.object.Name} {
		if value != "" {
			request[field] = value
		}
	}
	generated := p.mutating && p.operation == admissionregistrationv1.Create && p.object.GeneratedName
	switch {
	case p.logged != nil:
		request["userInfo"] = map[string]any{"username": p.logged.user, "groups": p.logged.groups}
		unknown = append(unknown, ofRequest("userInfo").QualString("uid"), ofRequest("userInfo").QualString("extra"))
		if p.mutating && p.logged.generated {
			delete(request, "name")
		}
	case generated: // The client may have chosen the name all the same.
		unknown = append(unknown, ofRequest("userInfo"), ofRequest("name"))
	default:
		unknown = append(unknown, ofRequest("userInfo"))
	}
	content := func(variable string) {
		if p.object.Content == nil || p.superseded {
			unknown = append(unknown, cel.AttributePattern(variable))
		} else {
			values[variable] = p.object.Content.Object
		}
	}
	switch p.operation {
	case admissionregistrationv1.Create:
		content("object")
	case admissionregistrationv1.Delete:
		content("oldObject")
	default:
		content("object")
		unknown = append(unknown, cel.AttributePattern("oldObject"))
	}
	return cel.PartialVars(values, unknown...)
}

func ofRequest(field string) *cel.AttributePatternType {
	return cel.AttributePattern("request").QualString(field)
}
