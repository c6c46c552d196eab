package integration

import (
	"context"
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// What is checked before any phase, in OLM v0's order: the finalizer, one group, the
// annotations, the install modes. Other faults are not checked before.
func TestChecksBeforeAnyPhase(t *testing.T) {
	for name, test := range map[string]struct {
		groups    []operatorsv1.OperatorGroupSpec
		reason    operatorsv1alpha1.ConditionReason
		annotated bool
	}{
		"no group":           {nil, operatorsv1alpha1.CSVReasonNoOperatorGroup, false},
		"two groups":         {groups(allNamespaces, allNamespaces), operatorsv1alpha1.CSVReasonTooManyOperatorGroups, false},
		"an unsupported one": {groups(allNamespaces), operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			for i, spec := range test.groups {
				e.group(fmt.Sprint("og", i), spec)
			}
			m := e.manage()
			c := needs(csv("operator.v1", "server"), "absent")
			support(c, operatorsv1alpha1.InstallModeTypeOwnNamespace)
			c.Spec.WebhookDefinitions[0].Rules[0].APIGroups = []string{"*"}
			e.create(c)
			e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, test.reason)
			m.looksAgain("operator.v1")
			got := e.get("operator.v1")
			expect(t, got.Finalizers, "operators.coreos.com/csv-cleanup")
			var annotations map[string]string
			if test.annotated {
				annotations = map[string]string{"olm.operatorGroup": "og0", "olm.operatorNamespace": e.namespace, "olm.targetNamespaces": ""}
			}
			same(t, "annotations", got.Annotations, annotations)
			if got.Status.Reason != test.reason || len(got.Status.RequirementStatus) > 0 {
				t.Errorf("it reports %s, and of its requirements %+v", got.Status.Reason, got.Status.RequirementStatus)
			}
		})
	}
}

// A manager as it is shipped reports nothing for a while of what continues as it should. A client
// that reads the conditions misses no phase by it, and one that waits for a phase in which it stays observes it.
func TestPhasesOfAPatientManager(t *testing.T) {
	unknown := says{"Pending", "RequirementsUnknown", "requirements not yet checked"}
	ready := says{"InstallReady", "AllRequirementsMet", "all requirements found, attempting install"}
	installing := says{"Installing", "InstallSucceeded", "waiting for install components to report healthy"}
	succeeded := says{"Succeeded", "InstallSucceeded", "install strategy completed with no errors"}
	for name, test := range map[string]struct {
		change func(*operatorsv1alpha1.ClusterServiceVersion)
		starts bool // its Deployment gets available at once
		phase  says // in which it stays, except for the end of its message
		passed []says
	}{
		"all is well":           {unchanged, true, succeeded, []says{unknown, ready, installing}},
		"its pods do not start": {unchanged, false, says{"Installing", "InstallWaiting", "installing: waiting for deployment server to become ready: "}, []says{unknown, ready, installing}},
		"it lacks an account": {func(c *operatorsv1alpha1.ClusterServiceVersion) { needs(c, "absent") }, true,
			says{"Pending", "RequirementsNotMet", requirementsNotMet}, []says{unknown}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newGroupEnv(t)
			if test.starts {
				e.runDeployments()
			}
			e.manage(patiently)
			c := csv("operator.v1", "server")
			test.change(c)
			e.create(c)
			e.reaches("operator.v1", test.phase.phase, test.phase.reason)
			saidInOrder(e, "operator.v1", append(test.passed, test.phase)...)
		})
	}
}

// A definition whose kind another one has exists, and is not available.
func TestDefinitionWhoseKindIsTaken(t *testing.T) {
	e := newParallelEnv(t)
	crds := extensions(e).ApiextensionsV1().CustomResourceDefinitions()
	var made []*apiextensionsv1.CustomResourceDefinition
	for _, plural := range []string{"takers", "losers"} {
		crd := kube.Create(e, crds, things(e, plural, "v1"))
		made = append(made, crd)
		e.eventually("it is decided who has the kind", func() (bool, any) {
			now := kube.Get(e, crds, crd.Name)
			return len(now.Status.Conditions) > 0, now.Status
		})
	}
	taker, loser := made[0], made[1]
	e.Cleanup(func() { e.must(crds.Delete(context.WithoutCancel(e.ctx), loser.Name, metav1.DeleteOptions{})) })
	e.group("og", allNamespaces)
	e.runDeployments()
	e.manage()
	c := csv("operator.v1", "server")
	c.Spec.CustomResourceDefinitions.Required = []operatorsv1alpha1.CRDDescription{{Name: loser.Name, Version: "v1", Kind: "Thing"}}
	e.create(c)
	comesToSay(e, "operator.v1", says{"Pending", "RequirementsNotMet", requirementsNotMet})
	want := operatorsv1alpha1.RequirementStatus{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: loser.Name, Status: "PresentNotAvailable", UUID: string(loser.UID),
	}
	requires(e, want)
	e.must(crds.Delete(e.ctx, taker.Name, metav1.DeleteOptions{}))
	e.succeeds("operator.v1")
	want.Status = operatorsv1alpha1.RequirementStatusReasonPresent
	requires(e, want)
}
