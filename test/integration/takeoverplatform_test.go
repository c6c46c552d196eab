package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// converge does not replace pods while a PodDisruptionBudget allows no disruption.
func TestTakeoverConvergeAwaitsABudget(t *testing.T) {
	e := newTakeoverEnv(t)
	e.completes(runCommand...)
	pods := e.pods()
	budgets := e.kube.PolicyV1().PodDisruptionBudgets(e.namespace)
	budget := kube.Create(e, budgets, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "operators"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: e.deployment("server").Spec.Selector.MatchLabels}},
	})
	_, err := e.run(proxy(e.env, nil), slices.Concat(convergeCommand, []string{"--timeout", "2s"})...)
	installtest.Error(t, "PodDisruptionBudget operators allows no disruption of Deployment server", err)
	pods.stay(e, "converge that waits")
	budget.Status = policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: 1, ObservedGeneration: budget.Generation}
	_, err = budgets.UpdateStatus(e.ctx, budget, metav1.UpdateOptions{})
	e.must(err)
	e.completes(convergeCommand...)
	e.is(takeover.Converged)
}

// On OpenShift, the Cluster Version Operator starts olm-operator again, unless an override says that it does not manage it.
func TestTakeoverOnOpenShift(t *testing.T) {
	e := newTakeoverEnv(t)
	kube.Patch(e, e.kube.AppsV1().Deployments(e.namespace), olmOperator, types.MergePatchType, []byte(`{"metadata":{"annotations":{"include.release.openshift.io/self-managed-high-availability":"true"}}}`))
	versions := newClusterVersions(e.env)
	version := map[string]any{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": map[string]any{"name": "version"}, "spec": map[string]any{"clusterID": "a"}}
	_, err := versions.Create(e.ctx, &unstructured.Unstructured{Object: version}, metav1.CreateOptions{})
	e.must(err)
	e.Cleanup(func() { // The kind is removed later than its deletion is answered. The next takeover must not find the object.
		e.must(versions.Delete(context.WithoutCancel(t.Context()), "version", metav1.DeleteOptions{}))
	})
	blocked := func(what string, want bool) {
		t.Helper()
		p := proxy(e.env, nil)
		out, err := e.run(p, runCommand...)
		same(t, what+": blocked", err != nil, want)
		same(t, what+": the blocker", strings.Contains(out, "OLMScaledByOthers"), want)
		same(t, what+": replicas of olm-operator", e.replicas(olmOperator) > 0, want)
	}
	override := func(name string) {
		t.Helper()
		_, err := versions.Patch(e.ctx, "version", types.MergePatchType,
			[]byte(`{"spec":{"overrides":[{"group":"apps","kind":"Deployment","namespace":"`+e.namespace+`","name":"`+name+`","unmanaged":true}]}}`), metav1.PatchOptions{})
		e.must(err)
	}
	blocked("no override", true)
	override("catalog-operator")
	blocked("an override for another Deployment", true)
	override(olmOperator)
	blocked("an override", false)
	e.is(takeover.Adopted)
}

// newClusterVersions creates the kind that only OpenShift has.
func newClusterVersions(e *env) dynamic.ResourceInterface {
	e.Helper()
	const group, plural = "config.openshift.io", "clusterversions"
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.ClusterScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: "clusterversion", Kind: "ClusterVersion", ListKind: "ClusterVersionList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}},
			}},
		},
	}
	e.temporaryDefinition(crd)
	return installtest.OrPanic(dynamic.NewForConfig(cluster.Config())).Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: plural})
}
