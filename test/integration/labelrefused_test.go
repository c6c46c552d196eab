package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// A policy protects the labels of some Namespaces. The others get theirs all the same, the OperatorGroup
// and its ClusterServiceVersion say what is refused, and go on when it is not any more.
func TestANamespaceWhoseLabelIsRefused(t *testing.T) {
	e := newParallelEnv(t)
	var protected []string
	for range 5 {
		protected = append(protected, newNamespace(e, "", map[string]string{"protected": e.namespace}))
	}
	free := newNamespace(e, "", nil)
	allow := protect(e, protected[0])
	group := e.group("og", namespaces(append(protected, free, e.namespace)...))
	e.runDeployments()
	e.manage()
	e.create(csv("operator.v1", "server"))

	carriesLabel(e, group, []string{free, e.namespace}, free, e.namespace)
	refused := func() *metav1.Condition {
		return meta.FindStatusCondition(groupStatus(e, "og").Conditions, scope.ConditionLabelRefused)
	}
	e.eventually("the OperatorGroup says which Namespaces are refused", func() (bool, any) {
		c := refused()
		return c != nil && strings.Contains(c.Message, "and 2 more") && strings.Contains(c.Message, "labels are protected"), c
	})
	e.eventually("the ClusterServiceVersion says so", func() (bool, any) {
		w := webhookStatus(e, "operator.v1", "v.example.com")
		return w.Reason == "NamespacesNotLabelled" && strings.Contains(w.Message, "labels are protected"), w
	})
	registersNothing(e)

	allow()
	carriesLabel(e, group, protected, protected...)
	e.eventually("the OperatorGroup says nothing of it any more", func() (bool, any) { return refused() == nil, refused() })
	e.succeeds("operator.v1")
}

// protect has a policy refuse changes of the labels of the Namespaces that are labelled as protected for
// the test, and waits until it does so for one of them.
func protect(e *env, namespace string) (allow func()) {
	e.Helper()
	name := "protect-" + e.namespace
	policies, bindings := e.kube.AdmissionregistrationV1().ValidatingAdmissionPolicies(), e.kube.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	_, err := policies.Create(e.ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: named(name), Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"protected": e.namespace}},
			ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"namespaces"}},
			}}},
		},
		Validations: []admissionregistrationv1.Validation{{Expression: "object.metadata.labels == oldObject.metadata.labels", Message: "labels are protected"}},
	}}, metav1.CreateOptions{})
	e.must(err)
	_, err = bindings.Create(e.ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: named(name), Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
	}}, metav1.CreateOptions{})
	e.must(err)
	allow = func() {
		e.must(ignoreNotFound(bindings.Delete(context.Background(), name, metav1.DeleteOptions{})))
		e.must(ignoreNotFound(policies.Delete(context.Background(), name, metav1.DeleteOptions{})))
	}
	e.Cleanup(allow)
	attempts := 0
	e.eventually("the policy is in force", func() (bool, any) {
		attempts++
		patch := fmt.Sprintf(`{"metadata":{"labels":{"attempt":"%d"}}}`, attempts)
		_, err := e.kube.CoreV1().Namespaces().Patch(e.ctx, namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil, err
	})
	return allow
}

func ignoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
