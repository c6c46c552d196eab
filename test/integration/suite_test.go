package integration

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

// What a suite written for OLM v0 does to ClusterServiceVersions, and no other test of this
// package: docs/admin/compatibility.md has the whole table.

// One ClusterServiceVersion in two Namespaces, whose groups target a Namespace that is not
// there, has two registrations, each with the name and the label to find it by.
func TestSameClusterServiceVersionInTwoNamespaces(t *testing.T) {
	e := newParallelEnv(t)
	var registrations []string
	for _, target := range []*env{e, neighbour(e)} {
		target.group("og", namespaces("test-go-"))
		target.runDeployments()
		target.manage()
		c := csv("operator.v1", "server")
		// Nothing that has a default, and no rule at all.
		d := &c.Spec.WebhookDefinitions[0]
		d.Rules, d.WebhookPath, d.AdmissionReviewVersions = nil, nil, []string{"v1beta1", "v1"}
		target.install(c)
		registered := target.registration("v.example.com")
		if !strings.HasPrefix(registered.Name, "v.example.com-") || len(registered.Webhooks) != 1 || registered.Webhooks[0].Name != "v.example.com" {
			t.Errorf("registered as %s: %+v", registered.Name, registered.Webhooks)
		}
		registrations = append(registrations, registered.Name)
	}
	if registrations[0] == registrations[1] {
		t.Errorf("both are registered as %s", registrations[0])
	}
}

// A selector is the namespaceSelector as it is written; no selector and no names is {}.
func TestNamespaceSelectorsAsTheyAreWritten(t *testing.T) {
	for name, test := range map[string]struct {
		spec operatorsv1.OperatorGroupSpec
		want *metav1.LabelSelector
	}{
		"by expression": {operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpExists},
		}}}, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "kubernetes.io/metadata.name", Operator: metav1.LabelSelectorOpExists}}}},
		"an empty list of names": {operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{}}, &metav1.LabelSelector{}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			operating(e, test.spec)
			runOperator(e)
			same(t, "namespaceSelector", e.registration("v.example.com").Webhooks[0].NamespaceSelector, test.want)
		})
	}
}

// What another client writes into the status is no installation: it is found out again, and
// certificates that are valid are used again, as they are after an edit.
func TestStatusIsSetBack(t *testing.T) {
	e, _ := newRunningOperator(t)
	secret, registered := certificate(e), e.registration("v.example.com")
	for _, phase := range []operatorsv1alpha1.ClusterServiceVersionPhase{operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVPhaseNone} {
		e.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			c := e.get("operator.v1")
			c.Status = operatorsv1alpha1.ClusterServiceVersionStatus{Phase: phase}
			_, err := e.olm.ClusterServiceVersions(e.namespace).UpdateStatus(e.ctx, c, metav1.UpdateOptions{})
			return err
		}))
		e.succeeds("operator.v1")
	}
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.DisplayName = "Another" })
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { container(c).Image = "example.com/server:2" })
	runs(e, "example.com/server:2")
	e.succeeds("operator.v1")
	same(t, "resourceVersion of the Secret", certificate(e).ResourceVersion, secret.ResourceVersion)
	now := e.registration("v.example.com")
	same(t, "uid of the registration", now.UID, registered.UID)
	same(t, "resourceVersion of the registration", now.ResourceVersion, registered.ResourceVersion)
}

// A renamed Deployment is created under its new name, then deleted under the old one. One that stays is not touched.
func TestDeploymentIsRenamed(t *testing.T) {
	e := newOperatorEnv(t, "after")
	m := e.manage()
	c := csv("operator.v1", "before", "stays")
	e.install(c)
	uid, registered := e.deployment("stays").UID, e.registration("v.example.com")
	hash := e.deployment("stays").Labels["olm.deployment-spec-hash"]

	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0] = deploymentSpec("after")
		c.Spec.WebhookDefinitions[0].DeploymentName = "after"
	})
	e.eventually("the new one exists", func() (bool, any) { return e.deployment("after") != nil, nil })
	m.looksAgain("operator.v1")
	expect(t, webhooks(e), "v.example.com operator.v1 before-service /validate")
	if e.deployment("before") == nil {
		t.Fatal("the old one no longer exists, and the new one does not serve")
	}
	setAvailable(e, "after", true)
	e.eventually("the old one no longer exists", func() (bool, any) { return e.deployment("before") == nil, e.deployment("before") })
	e.succeeds("operator.v1")
	expect(t, webhooks(e), "v.example.com operator.v1 after-service /validate")
	same(t, "the uid of the registration that is switched", e.registration("v.example.com").UID, registered.UID)
	if d := e.deployment("stays"); d.UID != uid || d.Labels["olm.deployment-spec-hash"] != hash || hash == "" {
		t.Errorf("the Deployment that stays was %s with hash %q, is %s with %q", uid, hash, d.UID, d.Labels["olm.deployment-spec-hash"])
	}
}

func TestRequirementTexts(t *testing.T) {
	e := newParallelEnv(t)
	crd := newCRD(e, "knobs", "v1alpha1")
	e.group("og", allNamespaces)
	e.manage()
	c := csv("operator.v1", "server")
	c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: crd.Name, Version: "apiextensions.k8s.io/v1alpha1", Kind: "Thing"}}
	e.create(c)
	e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	want := []operatorsv1alpha1.RequirementStatus{{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition", Name: crd.Name,
		Status: operatorsv1alpha1.RequirementStatusReasonNotPresent, Message: "CRD version not served",
	}}
	same(t, "status.requirementStatus", e.get("operator.v1").Status.RequirementStatus, want)
}

func TestUpgradeThroughIntermediates(t *testing.T) {
	e := newOperatorEnv(t)
	runOperator(e, func(o *controller.Options) { o.Workers = 1 })
	for i, name := range []string{"operator.v2", "operator.v3", "operator.v4"} {
		c := csv(name, "server")
		c.Spec.Replaces = []string{"operator.v1", "operator.v2", "operator.v3"}[i]
		e.create(c)
	}
	e.succeeds("operator.v4")
	noLongerExist(e, "operator.v1", "operator.v2", "operator.v3")
	expect(t, webhooks(e), "v.example.com operator.v4 server-service /validate")
}

// What an operator owns is kept when its deletion orphans it. Its webhook is deleted all the same, and so is
// the manager's record; the operator that is installed again adopts what exists.
func TestUninstallThatOrphans(t *testing.T) {
	e, _ := newRunningOperator(t)
	uid := e.deployment("server").UID
	client := e.olm.ClusterServiceVersions(e.namespace)
	e.must(client.Delete(e.ctx, "operator.v1", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}))
	becomes(e, "the manager has removed its finalizer", func() []string { return e.get("operator.v1").Finalizers }, []string{metav1.FinalizerOrphanDependents})
	disown(e, e.owned(derived)...) // as the garbage collector does
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Finalizers = nil })
	noLongerExist(e, "operator.v1")

	kept := lists.Map(e.owned(derived), kindOf)
	slices.Sort(kept)
	expect(t, kept, "Deployment", "OperatorCondition", "Role", "Role", "RoleBinding", "RoleBinding", "Secret", "Service")
	e.install(csv("operator.v1", "server"))
	if now := e.deployment("server"); now.UID != uid || len(now.OwnerReferences) != 1 {
		t.Errorf("the Deployment is %s, owned by %v; want %s, adopted", now.UID, now.OwnerReferences, uid)
	}
}

// The garbage collector orphans what an operator owns before the manager's cache shows that the operator is
// deleted. The manager does not make the operator its owner again: it would be deleted with the operator.
func TestOrphansBeforeTheDeletionIsSeen(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	frozen := e.freezer("clusterserviceversions")
	m := manageThrough(e, frozen.config)
	e.install(csv("operator.v1", "server"))
	m.looksAgain("operator.v1")
	frozen.freeze()
	defer frozen.thaw()
	csvs := e.olm.ClusterServiceVersions(e.namespace)
	e.must(csvs.Delete(e.ctx, "operator.v1", metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}))
	for _, o := range e.owned(derived[:len(derived)-len(clusterScoped)]) { // the garbage collector orphans one object after another
		before := m.passes("ClusterServiceVersion")
		disown(e, o)
		e.eventually("the manager reconciles after the change of "+o.GetKind()+" "+o.GetName(), func() (bool, any) {
			now := m.passes("ClusterServiceVersion")
			return now > before, now
		})
		live, err := client(e, o).Get(e.ctx, o.GetName(), metav1.GetOptions{})
		e.must(err)
		none(t, "owners of "+o.GetKind()+" "+o.GetName(), live.GetOwnerReferences())
		live.SetOwnerReferences(o.GetOwnerReferences()) // the next one is the only one
		_, err = client(e, o).Update(e.ctx, live, metav1.UpdateOptions{})
		e.must(err)
	}
	same(t, "the cache was stale", frozen.held.Load() > 0, true)
	frozen.thaw()
	becomes(e, "the manager has removed its finalizer", func() []string { return e.get("operator.v1").Finalizers }, []string{metav1.FinalizerOrphanDependents})
}
