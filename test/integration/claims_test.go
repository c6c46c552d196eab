package integration

import (
	"maps"
	"slices"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func TestTwoClusterServiceVersionsWithOneDeployment(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	e.install(bundle())
	m.looksAgain("operator.v1")
	before := e.versions("operator.v1")

	c := bundle()
	c.Name = "operator.v2"
	e.create(c)
	e.reachesSaying("operator.v2", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "belongs to ClusterServiceVersion operator.v1")
	m.looksAgain("operator.v2")
	none(t, "objects of the one that cannot be installed", ownedBy(e, "operator.v2"))
	same(t, "the first one's objects", e.versions("operator.v1"), before)
	e.uninstall("operator.v2")
	same(t, "the first one's objects after the deletion of the second one", e.versions("operator.v1"), before)
}

func (e *env) versions(csv string) map[string]string {
	e.Helper()
	versions := map[string]string{}
	for _, o := range e.owned(derived) {
		if o.GetLabels()["olm.owner"] == csv {
			versions[o.GetKind()+" "+o.GetName()] = o.GetResourceVersion()
		}
	}
	return versions
}

// owners are the owners of what has the label of a ClusterServiceVersion and is written by
// server-side apply. On a Deployment and a Secret an owner that no longer exists is left to the garbage collector.
func owners(e *env, csv string) []string {
	e.Helper()
	names := map[string]bool{}
	for _, o := range e.owned(derived) {
		if o.GetLabels()["olm.owner"] != csv || o.GetKind() == "Deployment" || o.GetKind() == "Secret" {
			continue
		}
		for _, owner := range o.GetOwnerReferences() {
			names[owner.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

func TestUnmanaged(t *testing.T) {
	for name, mark := range map[string]func(*operatorsv1alpha1.ClusterServiceVersion){
		"a copy": func(c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Labels = map[string]string{"olm.copiedFrom": "elsewhere"}
		},
		"another namespace": func(*operatorsv1alpha1.ClusterServiceVersion) {},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			m := e.manage(func(o *controller.Options) {
				if name == "another namespace" {
					o.Namespaces = []string{"elsewhere"}
				}
			})
			c := csv("operator.v1", "server")
			mark(c)
			c = e.create(c)
			c.Status = operatorsv1alpha1.ClusterServiceVersionStatus{Phase: operatorsv1alpha1.CSVPhaseSucceeded, Reason: operatorsv1alpha1.CSVReasonCopied, Message: "by OLM"}
			kube.UpdateStatus(e, e.olm.ClusterServiceVersions(e.namespace), c)
			m.looksAfter(func() { e.create(csv("later.v1", "later")) })
			m.looksAgain("later.v1")
			left := e.get("operator.v1")
			same(e, "its status", left.Status, c.Status)
			none(t, "finalizers", left.Finalizers)
			same(t, "annotations", len(left.Annotations), 0)
			none(t, "objects created for it", ownedBy(e, "operator.v1"))
		})
	}
}

func TestNoWebhooks(t *testing.T) {
	e := newOperatorEnv(t)
	e.manage()
	c := csv("operator.v1", "server")
	c.Spec.WebhookDefinitions = nil
	e.install(c)
	kinds := lists.Map(e.owned(derived), kindOf)
	slices.Sort(kinds)
	if !slices.Equal(kinds, []string{"Deployment", "OperatorCondition", "Role", "RoleBinding"}) { // and who may write its condition
		t.Errorf("created for it: %v", kinds)
	}
}
