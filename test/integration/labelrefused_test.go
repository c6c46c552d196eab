package integration

import (
	"fmt"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
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
	e.webhookIs("", "NamespacesNotLabelled", "labels are protected")
	e.eventually("the ClusterServiceVersion says it, too", func() (bool, any) {
		message := csvstatus.Explained(e.get("operator.v1").Status)
		return strings.Contains(message, "labels are protected"), message
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
	match := matching([]admissionregistrationv1.OperationType{admissionregistrationv1.Update}, []string{""}, "namespaces")
	match.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"protected": e.namespace}}
	allow = addValidatingPolicy(e, "protect-"+e.namespace, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: match,
		Validations:      []admissionregistrationv1.Validation{{Expression: "object.metadata.labels == oldObject.metadata.labels", Message: "labels are protected"}},
	})
	attempts := 0
	e.eventually("the policy is in force", func() (bool, any) {
		attempts++
		patch := fmt.Sprintf(`{"metadata":{"labels":{"attempt":"%d"}}}`, attempts)
		_, err := e.kube.CoreV1().Namespaces().Patch(e.ctx, namespace, types.MergePatchType, []byte(patch), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil, err
	})
	return allow
}
