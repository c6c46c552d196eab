package integration

import (
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// webhook makes a webhook of a kind. The last one of a round sees the probe alone, and the others do not see it.
func (g *generator) webhook(kind, name, probe string, last bool) admissionregistrationv1.ValidatingWebhook {
	if !last && g.random.IntN(6) == 0 {
		name = failing + "-" + name
	}
	name += ".example.com"
	w := admissionregistrationv1.ValidatingWebhook{
		Name: name, ClientConfig: g.server.at(kind, name), SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
		FailurePolicy: pick(g, new(admissionregistrationv1.Fail), new(admissionregistrationv1.Ignore)), TimeoutSeconds: new(int32(5)),
		MatchPolicy: g.matchPolicy(), NamespaceSelector: g.selector(), ObjectSelector: g.objectSelector(),
		Rules: []admissionregistrationv1.RuleWithOperations{g.rule(), g.rule()},
	}
	if !g.converted(w.Rules) {
		w.MatchConditions = g.conditions(false)
	}
	if last {
		w.ObjectSelector, w.NamespaceSelector, w.Rules, w.MatchConditions = selectingBy("probe", probe), &metav1.LabelSelector{}, g.everything(), nil
	}
	return w
}

func (g *generator) everything() []admissionregistrationv1.RuleWithOperations {
	return []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"}},
	}}
}

func selectingBy(key string, values ...string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: key, Operator: metav1.LabelSelectorOpIn, Values: values}}}
}

func (g *generator) matchPolicy() *admissionregistrationv1.MatchPolicyType {
	return pick(g, new(admissionregistrationv1.Exact), new(admissionregistrationv1.Equivalent), new(admissionregistrationv1.Equivalent))
}

// selector selects by the label tier, which Namespaces and objects have.
func (g *generator) selector() *metav1.LabelSelector {
	return pick(g, &metav1.LabelSelector{}, &metav1.LabelSelector{}, selectingBy("tier", "gold"), selectingBy("tier", "gold", "silver"),
		&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"gold"}}}},
		&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist}}},
	)
}

// objectSelector selects objects of the test alone.
func (g *generator) objectSelector() *metav1.LabelSelector {
	s := g.selector().DeepCopy()
	s.MatchLabels = map[string]string{explained: g.namespace}
	return s
}

func (g *generator) rule() admissionregistrationv1.RuleWithOperations {
	with := func(group, resource string, versions ...string) admissionregistrationv1.Rule {
		return admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{pick(g, versions...)}, Resources: []string{resource}}
	}
	rule := pick(g,
		with("", "configmaps", "v1", "*"), with(g.group, "widgets", "v0", "v1alpha1", "v1", "*"), with(g.group, "widgets", "v1alpha1", "v1"), with(g.group, "gauges", "v1", "v0"),
		with(g.group, "*", "v1"), with("*", "*", "*"), with("*", "*/*", "v1"), with("", "events", "v1"), with("events.k8s.io", "events", "v1"), with("", "namespaces", "v1"),
		with("admissionregistration.k8s.io", "*", "*"), with("", "configmaps/status", "v1"),
	)
	rule.Scope = pick(g, new(admissionregistrationv1.AllScopes), new(admissionregistrationv1.AllScopes), new(admissionregistrationv1.NamespacedScope), new(admissionregistrationv1.ClusterScope))
	return admissionregistrationv1.RuleWithOperations{
		Operations: pick(g,
			[]admissionregistrationv1.OperationType{admissionregistrationv1.OperationAll}, []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			[]admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
			[]admissionregistrationv1.OperationType{admissionregistrationv1.Update, admissionregistrationv1.Delete},
		),
		Rule: rule,
	}
}

// converted reports whether rules may need the conversion of a built-in kind, which the command cannot do for conditions.
func (g *generator) converted(rules []admissionregistrationv1.RuleWithOperations) bool {
	for _, r := range rules {
		if r.APIGroups[0] == "events.k8s.io" {
			return true
		}
	}
	return false
}

// conditions are none for half of the webhooks.
func (g *generator) conditions(params bool) []admissionregistrationv1.MatchCondition {
	if g.random.IntN(2) == 0 {
		return nil
	}
	pool := []string{
		"request.userInfo.username == 'alice'", "'developers' in request.userInfo.groups", "'system:authenticated' in request.userInfo.groups",
		"request.userInfo.username.startsWith('system:serviceaccount:')", "request.operation != 'DELETE'", "request.name.startsWith('a-')", "object.metadata.name.startsWith('a-')",
		"object != null", "oldObject == null || has(oldObject.metadata.uid)", "object == null || !has(object.metadata.uid) || oldObject != null",
		"has(object.metadata.uid)", "has(object.metadata.name)", "object.metadata.generation == 1", "object.spec.size > 2", "object == null || !has(object.spec) || !has(object.spec.size) || object.spec.size == 3",
		"object == null || object.apiVersion.endsWith('v1alpha1')", "request.resource.version == 'v1'", "request.kind.version == request.requestKind.version",
		"request.options.kind == 'CreateOptions'", "request.dryRun == false", "has(request.namespace) && request.namespace.endsWith('goldx')",
		"authorizer.group('').resource('pods').namespace('default').check('get').allowed()", "!authorizer.requestResource.check('create').allowed()",
		"authorizer.serviceAccount('default', 'default').path('/healthz').check('get').allowed() || authorizer.path('/metrics').check('get').allowed()",
		"'a' + string(request.dryRun) == 'afalse'", "object.data.mode == 'on'", "object.metadata.labels['tier'] == 'gold'",
	}
	if params {
		pool = append(pool, "params == null || params.data.mode == 'on'", "params.data.mode == 'on'", "params.metadata.name != request.name")
	}
	var all []admissionregistrationv1.MatchCondition
	for i := range 1 + g.random.IntN(2) {
		all = append(all, admissionregistrationv1.MatchCondition{Name: fmt.Sprint("c", i), Expression: pick(g, pool...)})
	}
	return all
}

// constraints are those of a policy or of its binding.
func (g *generator) constraints() *admissionregistrationv1.MatchResources {
	named := func(r admissionregistrationv1.RuleWithOperations) admissionregistrationv1.NamedRuleWithOperations {
		return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: r}
	}
	c := &admissionregistrationv1.MatchResources{
		NamespaceSelector: g.selector(), ObjectSelector: g.objectSelector(), MatchPolicy: g.matchPolicy(),
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{named(g.policyRule()), named(g.policyRule())},
	}
	if g.random.IntN(4) == 0 {
		c.ExcludeResourceRules = []admissionregistrationv1.NamedRuleWithOperations{named(g.policyRule())}
	}
	return c
}

// policyRule needs no conversion of a built-in kind, and no operation that a mutating policy may not have.
func (g *generator) policyRule() admissionregistrationv1.RuleWithOperations {
	for {
		r := g.rule()
		if !g.converted([]admissionregistrationv1.RuleWithOperations{r}) && !strings.Contains(r.Resources[0], "/") {
			return r
		}
	}
}

type policyMeta func(kind string, i int) metav1.ObjectMeta

// registerPolicies creates policies, and then their bindings: the last ones see the probe alone.
func (g *generator) registerPolicies(meta policyMeta, probe string) {
	g.Helper()
	api := g.kube.AdmissionregistrationV1()
	bindings := []func(){}
	for i := range 4 {
		last := i == 3
		constraints, paramKind := g.constraints(), g.paramKind(last)
		mutating := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: meta("mp", i), Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: constraints, ParamKind: paramKind, FailurePolicy: pick(g, new(admissionregistrationv1.Fail), new(admissionregistrationv1.Ignore)),
			MatchConditions: g.conditions(paramKind != nil), ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
		}}
		mutating.Spec.Mutations = []admissionregistrationv1.Mutation{{
			PatchType:          admissionregistrationv1.PatchTypeApplyConfiguration,
			ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{Expression: `Object{metadata: Object.metadata{annotations: Object.metadata.annotations{seen: (has(object.metadata.annotations) && "seen" in object.metadata.annotations ? object.metadata.annotations["seen"] : "") + "` + mutating.Name + `:" + ` + paramName(paramKind) + ` + " "}}}`},
		}}
		paramKind = g.paramKind(last)
		validating := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta("vp", i), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: g.constraints(), ParamKind: paramKind, FailurePolicy: pick(g, new(admissionregistrationv1.Fail), new(admissionregistrationv1.Ignore)),
			MatchConditions: g.conditions(paramKind != nil), AuditAnnotations: []admissionregistrationv1.AuditAnnotation{{Key: "seen", ValueExpression: `"seen:" + ` + paramName(paramKind)}},
		}}
		if last {
			mutating.Spec.MatchConstraints = &admissionregistrationv1.MatchResources{ObjectSelector: selectingBy("probe", probe), ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: g.everything()[0]}}}
			validating.Spec.MatchConstraints = mutating.Spec.MatchConstraints.DeepCopy()
			validating.Spec.MatchConstraints.ObjectSelector = selectingBy("probe", probe+deniedProbe)
			validating.Spec.Validations = []admissionregistrationv1.Validation{{Expression: "false", Message: probe + deniedProbe}}
			mutating.Spec.MatchConditions, validating.Spec.MatchConditions = nil, nil
		}
		mutating.Spec.MatchConstraints.ResourceRules = creationsAndUpdates(mutating.Spec.MatchConstraints.ResourceRules)
		kube.Create(g, api.MutatingAdmissionPolicies(), mutating)
		kube.Create(g, api.ValidatingAdmissionPolicies(), validating)
		for j := range g.bindings(last) {
			spec := g.binding(last)
			bindings = append(bindings, func() {
				m, v := meta("mp", i), meta("vp", i)
				m.Name, v.Name = fmt.Sprint(m.Name, "-", j), fmt.Sprint(v.Name, "-", j)
				kube.Create(g, api.MutatingAdmissionPolicyBindings(), &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: m, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{
					PolicyName: mutating.Name, ParamRef: onlyIf(mutating.Spec.ParamKind, spec.ParamRef), MatchResources: spec.MatchResources,
				}})
				spec.PolicyName, spec.ParamRef = validating.Name, onlyIf(validating.Spec.ParamKind, spec.ParamRef)
				kube.Create(g, api.ValidatingAdmissionPolicyBindings(), &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: v, Spec: spec})
			})
		}
	}
	for _, create := range bindings {
		create()
	}
}

func creationsAndUpdates(rules []admissionregistrationv1.NamedRuleWithOperations) []admissionregistrationv1.NamedRuleWithOperations {
	for i := range rules {
		rules[i].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
	}
	return rules
}

func (g *generator) bindings(last bool) int {
	if last {
		return 1
	}
	return pick(g, 0, 1, 1, 2)
}

// binding is for both kinds of policies.
func (g *generator) binding(last bool) admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec {
	spec := admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		ValidationActions: pick(g, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}, []admissionregistrationv1.ValidationAction{admissionregistrationv1.Warn}),
		ParamRef: &admissionregistrationv1.ParamRef{
			Name: pick(g, "param-1", "param-2", "absent"), Namespace: pick(g, "", g.namespaces[0]),
			ParameterNotFoundAction: pick(g, new(admissionregistrationv1.AllowAction), new(admissionregistrationv1.DenyAction)),
		},
	}
	if g.random.IntN(3) == 0 {
		spec.ParamRef.Name, spec.ParamRef.Selector = "", &metav1.LabelSelector{MatchLabels: map[string]string{"param": "yes"}}
	}
	if g.random.IntN(3) == 0 {
		spec.MatchResources = g.constraints()
		spec.MatchResources.ResourceRules = creationsAndUpdates(spec.MatchResources.ResourceRules)
	}
	if last {
		spec.ValidationActions, spec.MatchResources = []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny}, nil
		spec.ParamRef = &admissionregistrationv1.ParamRef{Name: "param-1", Namespace: g.namespaces[0], ParameterNotFoundAction: new(admissionregistrationv1.DenyAction)}
	}
	return spec
}

func onlyIf(kind *admissionregistrationv1.ParamKind, ref *admissionregistrationv1.ParamRef) *admissionregistrationv1.ParamRef {
	if kind == nil {
		return nil
	}
	return ref
}

func (g *generator) paramKind(last bool) *admissionregistrationv1.ParamKind {
	configMaps := &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}
	if last {
		return configMaps
	}
	return pick(g, nil, nil, configMaps, configMaps, &admissionregistrationv1.ParamKind{APIVersion: "nothing.example.com/v1", Kind: "Nothing"})
}

// paramName is an expression for namespace/name of the parameter.
func paramName(kind *admissionregistrationv1.ParamKind) string {
	if kind == nil {
		return `""`
	}
	return `(params == null ? "" : params.metadata.namespace + "/" + params.metadata.name)`
}

// params are the parameters of policies.
func (g *generator) params() {
	g.Helper()
	for i, namespace := range g.namespaces[:2] {
		for _, name := range []string{"param-1", "param-2"}[i:] {
			kube.Create(g, g.kube.CoreV1().ConfigMaps(namespace), &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"param": "yes"}}, Data: map[string]string{"mode": map[string]string{"param-1": "on", "param-2": "off"}[name]},
			})
		}
	}
}
