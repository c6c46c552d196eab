package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/operator-framework/api/crds"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// copying runs a manager that also writes copies.
func (e *env) copying(change ...func(*controller.Options)) *manager {
	e.Helper()
	return copyingThrough(e, cluster.Config(), change...)
}

func copyingThrough(e *env, config *rest.Config, change ...func(*controller.Options)) *manager {
	e.Helper()
	return manageWith(e, config, func(set clients.Set, caches *informers.Caches, events record.EventRecorder) olmoperator.Controllers {
		c, err := copies.New(set, caches, events, logger(), []string{e.namespace + "-protected"})
		e.must(err)
		return olmoperator.Controllers{c}
	}, change...)
}

// newCopyEnv has a manager that writes copies, and an OperatorGroup that targets two new Namespaces.
func newCopyEnv(t *testing.T) (e *env, m *manager, one, other *env) {
	t.Helper()
	e = newParallelEnv(t)
	one, other = neighbour(e), neighbour(e)
	operating(e, namespaces(e.namespace, one.namespace, other.namespace))
	return e, e.copying(), one, other
}

// described is an operator with parts that caches do not keep.
func described(name, deployment string) *operatorsv1alpha1.ClusterServiceVersion {
	c := csv(name, deployment)
	c.Spec.Description, c.Spec.Icon = "A long text.", []operatorsv1alpha1.Icon{{Data: "aWNvbg==", MediaType: "image/svg+xml"}}
	c.Labels = map[string]string{"team": "red", "operators.coreos.com/operator.shop": ""}
	c.Annotations = map[string]string{"capabilities": "Basic Install"}
	return c
}

// maybe returns a ClusterServiceVersion in the Namespace of an env; nil if it does not exist.
func (e *env) maybe(name string) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	c, err := e.olm.ClusterServiceVersions(e.namespace).Get(e.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	e.must(err)
	return c
}

// isCurrent reports whether the copy in the Namespace of an env is as OLM v0 would write it.
func isCurrent(e *env, original *operatorsv1alpha1.ClusterServiceVersion) (bool, any) {
	e.Helper()
	found := e.maybe(original.Name)
	if found == nil {
		return false, "no copy"
	}
	want := original.Status
	want.Reason, want.Message = "Copied", "The operator is running in "+original.Namespace+" but is managing this namespace"
	annotations := map[string]string{"capabilities": "Basic Install", "olm.operatorGroup": "og", "olm.operatorNamespace": original.Namespace}
	for key := range found.Annotations {
		if strings.HasPrefix(key, "olm-webhook-manager.io/") {
			delete(found.Annotations, key)
		}
	}
	differences := slices.DeleteFunc([]string{
		cmp.Diff(original.Spec, found.Spec), cmp.Diff(want, found.Status), cmp.Diff(annotations, found.Annotations),
		cmp.Diff(map[string]string{"team": "red", "olm.copiedFrom": original.Namespace}, found.Labels),
		cmp.Diff(0, len(found.OwnerReferences)+len(found.Finalizers)),
	}, func(difference string) bool { return difference == "" })
	return len(differences) == 0, differences
}

// copied waits until there are current copies.
func copied(e *env, name string, in ...*env) {
	e.Helper()
	for _, target := range in {
		e.eventually("there is a current copy in "+target.namespace, func() (bool, any) { return isCurrent(target, e.get(name)) })
	}
}

func noCopy(e *env, name string, in ...*env) {
	e.Helper()
	for _, target := range in {
		e.eventually("there is no copy in "+target.namespace, func() (bool, any) { return target.maybe(name) == nil, nil })
	}
}

// Copies contain all that OLM v0 copies, follow the original and its OperatorGroup, and are deleted with it.
func TestCopies(t *testing.T) {
	e, _, one, other := newCopyEnv(t)
	e.install(described("operator.v1", "server"))
	copied(e, "operator.v1", one, other)

	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.Description = "Another text." })
	copied(e, "operator.v1", one, other)
	uid := one.get("operator.v1").UID
	setAvailable(e, "server", false)
	e.eventually("the operator fails", func() (bool, any) {
		phase := e.get("operator.v1").Status.Phase
		return phase != operatorsv1alpha1.CSVPhaseSucceeded, phase
	})
	copied(e, "operator.v1", one, other)
	setAvailable(e, "server", true)
	e.succeeds("operator.v1")
	copied(e, "operator.v1", one, other)
	same(t, "uid of the copy", one.get("operator.v1").UID, uid)

	editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec.TargetNamespaces = []string{e.namespace, other.namespace} })
	noCopy(e, "operator.v1", one)
	copied(e, "operator.v1", other)

	next := described("operator.v2", "server")
	next.Spec.Replaces = "operator.v1"
	e.install(next)
	noLongerExist(e, "operator.v1")
	noCopy(e, "operator.v1", other)
	copied(e, "operator.v2", other)

	e.uninstall("operator.v2")
	noCopy(e, "operator.v2", other)
}

// An OperatorGroup that selects by labels, and one that is deleted.
func TestCopiesFollowLabels(t *testing.T) {
	e := newParallelEnv(t)
	label := e.namespace + ".example.com"
	operating(e, operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{label: ""}}})
	labelNamespace(e, e.namespace, label, "")
	e.copying()
	e.install(described("operator.v1", "server"))

	later := *e
	later.namespace = newNamespace(e, "", map[string]string{label: ""})
	copied(e, "operator.v1", &later)
	kube.Patch(e, e.kube.CoreV1().Namespaces(), later.namespace, types.MergePatchType, fmt.Appendf(nil, `{"metadata": {"labels": {%q: null}}}`, label))
	noCopy(e, "operator.v1", &later)
	labelNamespace(e, later.namespace, label, "")
	copied(e, "operator.v1", &later)
	e.must(e.olm.OperatorGroups(e.namespace).Delete(e.ctx, "og", metav1.DeleteOptions{}))
	noCopy(e, "operator.v1", &later)
}

// A copy is written where another client changed or deleted it, whichever way.
func TestCopyIsRepaired(t *testing.T) {
	patch := func(kind types.PatchType, body, manager string, subresources ...string) func(e *env) {
		return func(e *env) {
			_, err := e.olm.ClusterServiceVersions(e.namespace).Patch(e.ctx, "operator.v1", kind, []byte(body), metav1.PatchOptions{FieldManager: manager}, subresources...)
			e.must(err)
		}
	}
	for name, change := range map[string]func(e *env){
		"deleted": func(e *env) {
			e.must(e.olm.ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
		},
		"spec":                         patch(types.MergePatchType, `{"spec": {"description": "mine"}}`, "tenant"),
		"spec, as the manager":         patch(types.MergePatchType, `{"spec": {"description": "mine"}}`, "olm-webhook-manager"),
		"status":                       patch(types.MergePatchType, `{"status": {"phase": "Failed"}}`, "tenant", "status"),
		"a label":                      patch(types.MergePatchType, `{"metadata": {"labels": {"mine": "yes"}}}`, "tenant"),
		"the label of copies":          patch(types.MergePatchType, `{"metadata": {"labels": {"olm.copiedFrom": "elsewhere"}}}`, "tenant"),
		"without the label of copies":  patch(types.MergePatchType, `{"metadata": {"labels": {"olm.copiedFrom": null}}}`, "tenant"),
		"without annotations":          patch(types.MergePatchType, `{"metadata": {"annotations": {"olm-webhook-manager.io/copied-state": null}}}`, "tenant"),
		"an owner":                     patch(types.MergePatchType, `{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "b"}]}}`, "tenant"),
		"the finalizer of originals":   patch(types.MergePatchType, `{"metadata": {"finalizers": ["operators.coreos.com/csv-cleanup"]}}`, "tenant"),
		"an older state, and the spec": patch(types.MergePatchType, `{"metadata": {"annotations": {"olm-webhook-manager.io/copied-state": "0.0"}}, "spec": {"description": "mine"}}`, "tenant"),
	} {
		t.Run(name, func(t *testing.T) {
			e, _, one, other := newCopyEnv(t)
			e.install(described("operator.v1", "server"))
			copied(e, "operator.v1", one, other)
			untouched := other.get("operator.v1").ResourceVersion
			change(one)
			copied(e, "operator.v1", one)
			same(t, "resourceVersion of the other copy", other.get("operator.v1").ResourceVersion, untouched)
		})
	}
}

// A manager that starts neither reads nor writes copies that are current.
func TestRestartWithCurrentCopies(t *testing.T) {
	e, m, one, other := newCopyEnv(t)
	e.install(described("operator.v1", "server"))
	copied(e, "operator.v1", one, other)
	m.stop()
	unchanged := other.get("operator.v1").ResourceVersion
	e.must(one.olm.ClusterServiceVersions(one.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	again := e.copying()
	copied(e, "operator.v1", one)
	same(t, "resourceVersion of the copy that was current", other.get("operator.v1").ResourceVersion, unchanged)
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.Description = "Another text." })
	copied(e, "operator.v1", one, other)
	want := []string{
		"create " + one.namespace, "get " + e.namespace, "update status " + one.namespace, // the deleted copy
		"get " + e.namespace, "update " + one.namespace, "update " + other.namespace, // the new spec
	}
	slices.Sort(want)
	same(t, "requests", again.csvRequests(again.started), want)
}

// What other clients did while no manager ran is repaired.
func TestCopiesAreRepairedAfterARestart(t *testing.T) {
	e, m, one, other := newCopyEnv(t)
	e.install(described("operator.v1", "server"))
	copied(e, "operator.v1", one, other)
	m.stop()
	kube.Patch(one, one.olm.ClusterServiceVersions(one.namespace), "operator.v1", types.MergePatchType, []byte(`{"spec": {"description": "mine"}}`))
	e.copying()
	copied(e, "operator.v1", one, other)
}

// csvRequests are the manager's requests for single ClusterServiceVersions, and their Namespaces, sorted.
func (m *manager) csvRequests(since int64) (requests []string) {
	m.Helper()
	for _, event := range m.audited(since) {
		if o := event.ObjectRef; o != nil && o.Resource == "clusterserviceversions" && o.Namespace != "" {
			requests = append(requests, strings.Join(strings.Fields(event.Verb+" "+o.Subresource+" "+o.Namespace), " "))
		}
	}
	slices.Sort(requests)
	return requests
}

// asByOLM writes a copy as OLM v0 does. change is applied before that.
func asByOLM(e *env, original *operatorsv1alpha1.ClusterServiceVersion, from string, change func(*operatorsv1alpha1.ClusterServiceVersion)) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	written := original.DeepCopy()
	written.ObjectMeta = metav1.ObjectMeta{
		Name: original.Name, Labels: map[string]string{"olm.copiedFrom": from},
		Annotations: map[string]string{"olm.operatorGroup": "og", "olm.operatorNamespace": from},
	}
	written.Status = operatorsv1alpha1.ClusterServiceVersionStatus{Phase: operatorsv1alpha1.CSVPhaseSucceeded, Reason: operatorsv1alpha1.CSVReasonCopied}
	change(written)
	status := written.Status
	written = e.create(written)
	written.Status = status
	return kube.UpdateStatus(e, e.olm.ClusterServiceVersions(e.namespace), written)
}

// Copies of OLM v0 are adopted in place or, without an original, deleted. What only looks like a copy is not modified.
func TestCopiesOfOLM(t *testing.T) {
	e := newParallelEnv(t)
	targets := []*env{neighbour(e), neighbour(e), neighbour(e), neighbour(e)}
	adopted, unproven, original, orphaned := targets[0], targets[1], targets[2], targets[3]
	operating(e, namespaces(e.namespace, adopted.namespace, unproven.namespace, original.namespace, orphaned.namespace))
	asWritten := func(*operatorsv1alpha1.ClusterServiceVersion) {}
	byOLM := asByOLM(adopted, described("operator.v1", "server"), e.namespace, asWritten)
	asByOLM(orphaned, described("deleted.v1", "server"), e.namespace, asWritten)
	kept := map[string]*operatorsv1alpha1.ClusterServiceVersion{
		"a tenant's, with the label": asByOLM(unproven, csv("operator.v1", "own"), e.namespace, func(c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Status = operatorsv1alpha1.ClusterServiceVersionStatus{}
		}),
		"a tenant's of another name, with the label": asByOLM(unproven, csv("deleted.v1", "own"), e.namespace, func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Status.Reason = "" }),
		"a copy of another manager's operator":       asByOLM(orphaned, csv("other.v1", "own"), "elsewhere", asWritten),
		"an original of that name":                   original.create(csv("operator.v1", "own")),
	}
	e.copying()
	e.install(described("operator.v1", "server"))
	copied(e, "operator.v1", adopted, orphaned)
	same(t, "uid of the adopted copy", adopted.get("operator.v1").UID, byOLM.UID)
	noCopy(e, "deleted.v1", orphaned)
	for what, before := range kept {
		after := kube.Get(e, e.olm.ClusterServiceVersions(before.Namespace), before.Name)
		same(t, "resourceVersion of "+what, after.ResourceVersion, before.ResourceVersion)
	}

	e.must(original.olm.ClusterServiceVersions(original.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	e.must(unproven.olm.ClusterServiceVersions(unproven.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	copied(e, "operator.v1", original, unproven)
}

// A tenant that always deletes its copy is not served without limit. The manager reports it.
func TestCopiesAreContested(t *testing.T) {
	e, m, one, other := newCopyEnv(t)
	e.install(described("operator.v1", "server"))
	copied(e, "operator.v1", one, other)
	for range 5 {
		e.must(one.olm.ClusterServiceVersions(one.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
		e.eventually("the copy is written again, or the contest is reported", func() (bool, any) {
			return one.maybe("operator.v1") != nil, nil
		})
	}
	m.emits("Warning Contested")
	e.must(one.olm.ClusterServiceVersions(one.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	e.must(other.olm.ClusterServiceVersions(other.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	copied(e, "operator.v1", other)
	if one.maybe("operator.v1") != nil {
		t.Error("the copy is written while the manager pauses")
	}
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.Description = "Another text." })
	copied(e, "operator.v1", one, other)
}

// An operator of all namespaces has a copy in each, unless OLMConfig disables them. The manager has the permissions of
// manifests/with-olm. The test is not parallel: the copies are in the Namespaces of other tests, too.
func TestCopiesInAllNamespaces(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	m := copyingThrough(e, grantedTo(e, "manager/clusterrole.yaml", "with-olm/clusterrole.yaml"))
	one, system, protected := neighbour(e), *e, *e
	system.namespace, protected.namespace = "kube-system", newNamespace(e, e.namespace+"-protected", nil)
	e.install(described("operator.v1", "server"))
	copied(e, "operator.v1", one, &system, &protected)

	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) { c.Spec.Description = "Another text." })
	copied(e, "operator.v1", one, &system, &protected)
	since := auditEnd(e)
	later := neighbour(e)
	copied(e, "operator.v1", later)
	same(t, "requests for a new Namespace", m.csvRequests(since), []string{"create " + later.namespace, "update status " + later.namespace})

	e.temporaryDefinition(crds.OLMConfig())
	config := kube.Create(e, e.olm.OLMConfigs(), &operatorsv1.OLMConfig{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: disablingCopies(true)})
	noCopy(e, "operator.v1", one, later, &system)
	copied(e, "operator.v1", &protected)
	e.configReports("CopiedCSVsDisabled", metav1.ConditionTrue, "Copied CSVs are disabled and no unexpected copied CSVs were found for operators installed in AllNamespace mode")
	e.install(described("second.v1", "second"))
	copied(e, "second.v1", &protected)
	noCopy(e, "second.v1", one)

	kube.Patch(e, e.olm.OLMConfigs(), config.Name, types.MergePatchType, []byte(`{"spec": {"features": {"disableCopiedCSVs": false}}}`))
	copied(e, "operator.v1", one, later, &system, &protected)
	copied(e, "second.v1", one)
	e.configReports("CopiedCSVsEnabled", metav1.ConditionFalse, "Copied CSVs are enabled and present across the cluster")

	e.uninstall("operator.v1")
	e.uninstall("second.v1")
	noCopy(e, "operator.v1", one, later, &system, &protected)
	noCopy(e, "second.v1", one, later, &system, &protected)
	used, group := m.permissionsUsed(), operatorsv1.GroupVersion.Group
	for _, p := range []permission{
		{group, "clusterserviceversions", "get"}, {group, "clusterserviceversions", "create"}, {group, "clusterserviceversions", "update"},
		{group, "olmconfigs", "watch"}, {group, "olmconfigs/status", "update"}, // a watch may fill a cache without a list
	} {
		if !used.Has(p) {
			t.Errorf("not needed: %s", p)
		}
	}
}

func disablingCopies(is bool) operatorsv1.OLMConfigSpec {
	return operatorsv1.OLMConfigSpec{Features: &operatorsv1.Features{DisableCopiedCSVs: &is}}
}

// configReports waits until OLMConfig has a condition, in OLM v0's words.
func (e *env) configReports(reason string, status metav1.ConditionStatus, message string) {
	e.Helper()
	e.eventually("OLMConfig reports "+reason, func() (bool, any) {
		c := meta.FindStatusCondition(kube.Get(e, e.olm.OLMConfigs(), "cluster").Status.Conditions, "DisabledCopiedCSVs")
		return c != nil && c.Reason == reason && c.Status == status && c.Message == message, c
	})
}

// Copies of an operator of several namespaces stay when OLMConfig disables those of operators of all namespaces.
func TestDisabledCopiesOfSeveralNamespaces(t *testing.T) {
	e := newEnv(t)
	e.temporaryDefinition(crds.OLMConfig())
	kube.Create(e, e.olm.OLMConfigs(), &operatorsv1.OLMConfig{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: disablingCopies(true)})
	one := neighbour(e)
	operating(e, namespaces(e.namespace, one.namespace))
	e.copying()
	e.install(described("operator.v1", "server"))
	copied(e, "operator.v1", one)
}

// A Namespace is deleted, and its copy is written before the cache shows that.
func TestCopyInADeletedNamespace(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	e.temporaryDefinition(crds.OLMConfig())
	kube.Create(e, e.olm.OLMConfigs(), &operatorsv1.OLMConfig{ObjectMeta: metav1.ObjectMeta{Name: "cluster"}, Spec: disablingCopies(false)})
	one, deleted := neighbour(e), newNamespace(e, "", nil)
	frozen := e.freezer("/api/v1/namespaces")
	copyingThrough(e, frozen.config)
	e.install(described("operator.v1", "server"))
	copied(e, "operator.v1", one)
	const complete = "Copied CSVs are enabled and present across the cluster"
	e.configReports("CopiedCSVsEnabled", metav1.ConditionFalse, complete)
	frozen.freeze()
	defer frozen.thaw()
	e.must(e.kube.CoreV1().Namespaces().Delete(e.ctx, deleted, metav1.DeleteOptions{}))
	e.install(described("second.v1", "second"))
	copied(e, "second.v1", one)
	e.eventually("a copy is missing", func() (bool, any) {
		conditions := kube.Get(e, e.olm.OLMConfigs(), "cluster").Status.Conditions
		return conditions[0].Message != complete, conditions
	})
	frozen.thaw()
	e.configReports("CopiedCSVsEnabled", metav1.ConditionFalse, complete)
}
