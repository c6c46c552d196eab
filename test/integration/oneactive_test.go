package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Two versions that replace the same one have its Deployment in mind. The first gets it; the other
// reports it, and nothing is written any more. When the first is deleted, the other continues.
func TestTwoVersionsReplaceTheSameOne(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	v1, v2 := versions()
	_, v3 := versions()
	v3.Name = "operator.v3"
	e.install(v1)
	e.create(v2)
	e.create(v3)

	var winner, other string
	e.eventually("one of them succeeds", func() (bool, any) {
		for _, name := range []string{"operator.v2", "operator.v3"} {
			if e.get(name).Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded {
				winner = name
			}
		}
		return winner != "", webhooks(e)
	})
	if other = "operator.v2"; winner == other {
		other = "operator.v3"
	}
	noLongerExist(e, "operator.v1")
	e.eventually("the other one reports who has the Deployment", func() (bool, any) {
		s := e.get(other).Status
		return s.Reason == operatorsv1alpha1.CSVReasonRequirementsNotMet && strings.Contains(csvstatus.Explained(s), "Deployment server belongs to ClusterServiceVersion "+winner), csvstatus.Explained(s)
	})
	e.eventually("the old version is the owner of nothing any more", func() (bool, any) {
		owners := owners(e, winner)
		return !slices.Contains(owners, "operator.v1"), owners
	})
	m.looksAgain(winner)
	before := e.versions(winner)
	m.looksAgain(winner)
	m.looksAgain(other)
	same(t, "the objects of the one that has the Deployment", e.versions(winner), before)
	none(t, "the objects of the other one", ownedBy(e, other))
	e.uninstall(winner)
	collect(e)
	e.succeeds(other)
}

// A version fails and is replaced, and then a client deletes it: the previous one and the one after it
// are versions of one operator still, by the owners of the Deployment.
func TestMiddleVersionIsDeleted(t *testing.T) {
	e := newParallelEnv(t)
	group := namespaces(e.namespace)
	group.UpgradeStrategy = operatorsv1.UpgradeStrategyUnsafeFailForward
	e.group("og", group)
	e.runDeployments("server")
	m := e.manage(func(o *controller.Options) { o.Rollout.InstallTimeout = time.Second })
	v1, v2, v3 := csv("operator.v1", "server"), csv("operator.v2", "server"), csv("operator.v3", "server")
	v2.Spec.Replaces, v3.Spec.Replaces = "operator.v1", "operator.v2"
	container(v2).Image, container(v3).Image = "example.com/server:2", "example.com/server:3"
	e.create(v1)
	rolledOut(e, "server", "operator.v1", true)
	e.succeeds("operator.v1")
	e.create(v2)
	rolledOut(e, "server", "operator.v2", false)
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInstallCheckFailed)
	e.create(v3)
	rolledOut(e, "server", "operator.v3", false)

	e.uninstall("operator.v2")
	collect(e)
	m.looksAgain("operator.v1")
	m.looksAgain("operator.v3")
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseReplacing, operatorsv1alpha1.CSVReasonBeingReplaced)
	same(t, "the owner of deployment server", e.deployment("server").Labels["olm.owner"], "operator.v3")
	setAvailable(e, "server", true)
	e.succeeds("operator.v3")
	noLongerExist(e, "operator.v1")
	expect(t, webhooks(e), "v.example.com operator.v3 server-service /validate")
	becomes(e, "the objects are the new version's alone", func() []string { return owners(e, "operator.v3") }, []string{"operator.v3"})
	m.looksAgain("operator.v3")
	before := e.versions("operator.v3")
	m.looksAgain("operator.v3")
	same(t, "the objects of operator.v3", e.versions("operator.v3"), before)
}

// A version that is deleted before it succeeded, and whose predecessor was never installed, leaves no
// registration: no pod would serve it.
func TestPredecessorThatWasNeverInstalled(t *testing.T) {
	e := newParallelEnv(t)
	group := namespaces(e.namespace)
	group.UpgradeStrategy = operatorsv1.UpgradeStrategyUnsafeFailForward
	e.group("og", group)
	e.runDeployments("last")
	m := e.manage()
	v1, v2 := csv("operator.v1", "server"), csv("operator.v2", "server", "last")
	for i := range v1.Spec.InstallModes {
		v1.Spec.InstallModes[i].Supported = v1.Spec.InstallModes[i].Type == operatorsv1alpha1.InstallModeTypeAllNamespaces
	}
	v2.Spec.Replaces = "operator.v1"
	e.create(v1)
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup)
	e.create(v2)
	live := []string{"v.example.com operator.v2 server-service /validate"}
	e.eventually("its webhook is in service", func() (bool, any) { return slices.Equal(webhooks(e), live), webhooks(e) })

	e.uninstall("operator.v2")
	registersNothing(e)
	collect(e)
	m.looksAgain("operator.v1")
	registersNothing(e)
}

// A client that writes another operator's ClusterServiceVersion among the owners of a Deployment does not make it
// an older version, which would be deleted. A forged record of an upgrade does not, either.
func TestOwnerReferenceOfAnotherOperator(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	e.install(csv("first.v1", "first"))
	e.install(csv("second.v1", "second"))
	second := e.get("second.v1")
	owner := fmt.Appendf(nil, `[{"op": "add", "path": "/metadata/ownerReferences/-", "value": {"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "name": "second.v1", "uid": %q}}]`, second.UID)
	_, err := e.kube.AppsV1().Deployments(e.namespace).Patch(e.ctx, "first", types.JSONPatchType, owner, metav1.PatchOptions{FieldManager: "another-operator"})
	e.must(err)
	m.looksAgain("first.v1")
	m.looksAgain("second.v1")
	succeeded := func(when string) {
		for _, name := range []string{"first.v1", "second.v1"} {
			if csv := e.get(name); csv.DeletionTimestamp != nil || csv.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
				t.Errorf("%s: %s is %s, deleted %v", when, name, csv.Status.Phase, csv.DeletionTimestamp)
			}
		}
	}
	succeeded("with the owner reference")

	m.stop()
	rollouts := e.olm.WebhookRollouts(e.namespace)
	forged := kube.Get(e, rollouts, "first.v1")
	forged.Status.Upgrade = &managerv1alpha1.UpgradeStatus{From: []string{"second.v1"}}
	kube.UpdateStatus(e, rollouts, forged)
	again := e.manage()
	again.looksAgain("first.v1")
	again.looksAgain("second.v1")
	succeeded("with the record of an upgrade")
}
