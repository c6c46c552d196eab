package integration

import (
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func owning(name, crd string) *operatorsv1alpha1.ClusterServiceVersion {
	c := csv(name, name)
	c.Spec.WebhookDefinitions[0].GenerateName = name + ".example.com"
	c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: crd, Version: "v1", Kind: "Thing"}}
	return c
}

func fails(e *env, csv string, reason operatorsv1alpha1.ConditionReason, words string) {
	e.Helper()
	installtest.Prefix(e, "the message", words+": ", e.reaches(csv, operatorsv1alpha1.CSVPhaseFailed, reason))
}

// The second operator that owns a definition waits until the first no longer exists.
func TestOwnerConflict(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	crd := newCRD(e, "things", "v1").Name
	e.install(owning("first", crd))
	e.create(owning("second", crd))
	fails(e, "second", operatorsv1alpha1.CSVReasonOwnerConflict, "conflicting CRD owner in namespace")
	m.looksAgain("second")
	expect(t, webhooks(e), "first.example.com first first-service /validate")
	same(t, "the second operator's Deployment", e.deployment("second"), nil)
	e.succeeds("first")
	e.uninstall("first")
	e.succeeds("second")
}

// When the groups of two operators that own one definition intersect, the younger operator is stopped, its webhooks
// first. It returns when the groups no longer intersect.
func TestIntersectingGroups(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	second := neighbour(e)
	second.group("og", namespaces(second.namespace))
	second.runDeployments()
	m := e.manage(func(o *controller.Options) { o.Namespaces = append(o.Namespaces, second.namespace) })
	crd := newCRD(e, "things", "v1").Name
	e.install(owning("first", crd))
	second.install(owning("second", crd))
	api := "Thing.v1." + e.namespace + ".example.com"
	tellsOf(e, api)
	tellsOf(second, api)

	intersected := auditEnd(e)
	editGroup(second, "og", func(g *operatorsv1.OperatorGroup) { g.Spec = namespaces(e.namespace, second.namespace) })
	fails(second, "second", operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict, "intersecting operatorgroups provide the same apis")
	e.eventually("the second operator is stopped", func() (bool, any) { return second.deployment("second") == nil, nil })
	registersNothing(second)
	tellsOf(second, "")
	webhooksFirst(m, intersected)
	e.succeeds("first")
	tellsOf(e, api)

	editGroup(second, "og", func(g *operatorsv1.OperatorGroup) { g.Spec = namespaces(second.namespace) })
	second.succeeds("second")
	tellsOf(second, api)
	expect(t, webhooks(second), "second.example.com second second-service /validate")
}

// An operator does not get at another one's definition by another spelling of its kind, or by another
// of its versions: the definition's name identifies what both own.
func TestConflictOverADefinitionByAnotherName(t *testing.T) {
	for name, misspell := range map[string]func(*operatorsv1alpha1.CRDDescription){
		"in lower case":        func(d *operatorsv1alpha1.CRDDescription) { d.Kind = "thing" },
		"another kind":         func(d *operatorsv1alpha1.CRDDescription) { d.Kind = "Other" },
		"no kind":              func(d *operatorsv1alpha1.CRDDescription) { d.Kind = "" },
		"in the other version": func(d *operatorsv1alpha1.CRDDescription) { d.Version = "v2" },
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			second := operating(neighbour(e), allNamespaces)
			e.manage(func(o *controller.Options) { o.Namespaces = append(o.Namespaces, second.namespace) })
			crd := newCRD(e, "things", "v1", "v2").Name
			e.install(owning("first", crd))
			hostile := converting("hostile", crd)
			misspell(&hostile.Spec.CustomResourceDefinitions.Owned[0])
			second.create(hostile)
			fails(second, "hostile", operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict, "intersecting operatorgroups provide the same apis")
			same(t, "the strategy of the other one's definition", conversion(e, crd).Strategy, apiextensionsv1.NoneConverter)
			e.succeeds("first")
		})
	}
}

// A group's list uses the kinds of the definitions as they are.
func TestStaticProvidedAPIsByAnotherName(t *testing.T) {
	e := newParallelEnv(t)
	operating(e, operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{e.namespace}, StaticProvidedAPIs: true})
	e.manage()
	provide(e, "Other.v1."+e.namespace+".example.com")
	hostile := owning("operator", newCRD(e, "things", "v1").Name)
	hostile.Spec.CustomResourceDefinitions.Owned[0].Kind = "Other"
	e.create(hostile)
	fails(e, "operator", operatorsv1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs, "static provided api operatorgroup cannot be modified by these apis")
	registersNothing(e)
}

// webhooksFirst compares the order of the manager's deletions. The last may have been seen before it was answered.
func webhooksFirst(m *manager, since int64) {
	m.Helper()
	var deletions []string
	m.eventually("the deletions are in the audit log", func() (bool, any) {
		deletions = slices.DeleteFunc(m.changes(since), func(write string) bool { return !strings.HasPrefix(write, "delete ") })
		return len(deletions) >= 2, deletions
	})
	if len(deletions) != 2 || !strings.HasPrefix(deletions[0], "delete validatingwebhookconfigurations") || !strings.HasPrefix(deletions[1], "delete deployments") {
		m.Errorf("deleted %q, want the webhook and then its Deployment", deletions)
	}
}

func TestStaticProvidedAPIs(t *testing.T) {
	e := newParallelEnv(t)
	operating(e, operatorsv1.OperatorGroupSpec{TargetNamespaces: []string{e.namespace}, StaticProvidedAPIs: true})
	m := e.manage()
	e.create(owning("operator", newCRD(e, "things", "v1").Name))
	const reason, words = operatorsv1alpha1.CSVReasonCannotModifyStaticOperatorGroupProvidedAPIs, "static provided api operatorgroup cannot be modified by these apis"
	fails(e, "operator", reason, words)
	registersNothing(e)
	provide(e, "Thing.v1."+e.namespace+".example.com")
	e.succeeds("operator")
	taken := auditEnd(e)
	provide(e, "Other.v1.example.com")
	fails(e, "operator", reason, words)
	e.eventually("the operator is stopped", func() (bool, any) { return e.deployment("operator") == nil, nil })
	webhooksFirst(m, taken)
	tellsOf(e, "Other.v1.example.com")
	e.must(e.olm.OperatorGroups(e.namespace).Delete(e.ctx, "og", metav1.DeleteOptions{}))
	e.reaches("operator", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonNoOperatorGroup)
}
