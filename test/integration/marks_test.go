package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// keepsOut has admission take a field off each object of the test's Namespace that is updated.
func keepsOut(e *env, resource, field string) {
	e.Helper()
	mutates(e, operatorsv1alpha1.GroupName, resource, fmt.Sprintf("object.metadata.namespace == %q && has(object.metadata.%s)", e.namespace, field),
		fmt.Sprintf(`[JSONPatch{op: "remove", path: "/metadata/%s"}]`, field), admissionregistrationv1.Update)
}

func mutates(e *env, group, resource, condition, patch string, operations ...admissionregistrationv1.OperationType) {
	e.Helper()
	addMutatingPolicy(e, resource+"-"+e.namespace, admissionregistrationv1.MutatingAdmissionPolicySpec{
		MatchConstraints: matching(operations, []string{group}, resource),
		MatchConditions:  []admissionregistrationv1.MatchCondition{{Name: "ours", Expression: condition}},
		Mutations:        jsonPatch(patch),
	})
}

// Nothing is created for a ClusterServiceVersion whose finalizer admission takes back: its webhooks would stay
// registered when it is deleted.
func TestFinalizerTakenBackByAdmission(t *testing.T) {
	e := newOperatorEnv(t)
	keepsOut(e, "clusterserviceversions", "finalizers")
	e.create(csv("operator.v1", "server"))
	e.eventually("the policy works", func() (bool, any) {
		patch := []byte(`{"metadata": {"finalizers": ["example.com/probe"]}}`)
		c, err := e.olm.ClusterServiceVersions(e.namespace).Patch(e.ctx, "operator.v1", types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(c.Finalizers) == 0, err
	})
	m := e.manage()
	e.eventually("the ClusterServiceVersion reports what is missing", func() (bool, any) {
		c := e.get("operator.v1")
		i := slices.IndexFunc(c.Status.RequirementStatus, func(r operatorsv1alpha1.RequirementStatus) bool {
			return strings.Contains(r.Message, wellknown.FinalizerCSV) && strings.Contains(r.Message, "admission takes back the change of metadata.finalizers")
		})
		return i >= 0 && c.Status.Reason == operatorsv1alpha1.CSVReasonRequirementsNotMet, c.Status
	})
	m.looksAgain("operator.v1")
	registersNothing(e)
	same(t, "the Deployment", e.deployment("server"), nil)
}

// The status of an OperatorGroup is kept also where admission takes its annotation back, and reports it.
func TestAnnotationOfAGroupTakenBackByAdmission(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "axles", "v1", "v2").Name
	keepsOut(e, "operatorgroups", "annotations")
	e.eventually("the policy works", func() (bool, any) {
		patch := []byte(`{"metadata": {"annotations": {"example.com/probe": "x"}}}`)
		g, err := e.olm.OperatorGroups(e.namespace).Patch(e.ctx, "og", types.MergePatchType, patch, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && len(g.Annotations) == 0, err
	})
	e.manage()
	e.create(converting("operator.v1", crd))
	e.eventually("the OperatorGroup reports what it targets, and what is taken back", func() (bool, any) {
		status := groupStatus(e, "og")
		c := meta.FindStatusCondition(status.Conditions, scope.ConditionAnnotationRefused)
		return status.LastUpdated != nil && len(status.Namespaces) == 1 && c != nil && strings.Contains(c.Message, "admission takes back the change of metadata.annotations.olm.providedAPIs"), status
	})
}

// A client that removes the annotations of a ClusterServiceVersion, or of an OperatorGroup, again and again is not
// fought without limit, and is reported.
func TestContestOverAnnotations(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "axles", "v1", "v2").Name
	e.manage()
	e.install(converting("operator.v1", crd))
	ctx, stop := context.WithCancel(e.ctx)
	versions, groups := e.olm.ClusterServiceVersions(e.namespace), e.olm.OperatorGroups(e.namespace)
	ofVersion := removesAnnotation(ctx, "olm.operatorGroup", func(patch []byte) (metav1.Object, error) {
		return versions.Patch(ctx, "operator.v1", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "gitops"})
	}, func() (metav1.Object, error) { return versions.Get(ctx, "operator.v1", metav1.GetOptions{}) })
	ofGroup := removesAnnotation(ctx, operatorsv1.OperatorGroupProvidedAPIsAnnotationKey, func(patch []byte) (metav1.Object, error) {
		return groups.Patch(ctx, "og", types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "gitops"})
	}, func() (metav1.Object, error) { return groups.Get(ctx, "og", metav1.GetOptions{}) })
	e.eventually("both report it", func() (bool, any) {
		contested := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, "Contested")
		refused := meta.FindStatusCondition(groupStatus(e, "og").Conditions, scope.ConditionAnnotationRefused)
		return contested != nil && strings.Contains(contested.Message, "metadata.annotations.olm.operatorGroup") &&
			refused != nil && strings.Contains(refused.Message, "keeps changing metadata.annotations.olm.providedAPIs back"), []any{contested, refused}
	})
	stop()
	for object, removed := range map[string]<-chan int{"ClusterServiceVersion": ofVersion, "OperatorGroup": ofGroup} {
		if n := <-removed; n > 6 {
			t.Errorf("the annotation of the %s was written and removed %d times before the manager paused, want at most 6", object, n)
		}
	}
}

// removesAnnotation removes an annotation of an object whenever it is set, and returns how often it did when it ends.
func removesAnnotation(ctx context.Context, annotation string, patch func([]byte) (metav1.Object, error), get func() (metav1.Object, error)) <-chan int {
	removed := make(chan int, 1)
	go func() {
		n := 0
		defer func() { removed <- n }()
		for ctx.Err() == nil {
			live, err := get()
			if err != nil || live.GetAnnotations()[annotation] == "" {
				continue
			}
			if _, err := patch(fmt.Appendf(nil, `{"metadata": {"annotations": {%q: null}}}`, annotation)); err == nil {
				n++
			}
		}
	}()
	return removed
}

// A client that takes the definition out of the owners of what converts is not fought without limit, and is reported.
func TestContestOverKeepers(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "widgets", "v1", "v2")
	e.manage()
	e.install(converting("operator.v1", crd.Name))
	services := e.kube.CoreV1().Services(e.namespace)
	removed := 0
	e.eventually("the contest is reported", func() (bool, any) {
		s := kube.Get(e, services, "server-service")
		kept := len(s.OwnerReferences)
		s.OwnerReferences = slices.DeleteFunc(s.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Kind == "CustomResourceDefinition" })
		if len(s.OwnerReferences) < kept {
			if _, err := services.Update(e.ctx, s, metav1.UpdateOptions{FieldManager: "gitops"}); err == nil {
				removed++
			}
		}
		c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, "Contested")
		return c != nil && strings.Contains(c.Message, "Owners of Service "+e.namespace+"/server-service"), c
	})
	if removed > 6 {
		t.Errorf("the owner was removed and added %d times before the manager paused, want at most 6", removed)
	}
}

// A CSV that is deleted and recreated is marked each time: no client removed the marks of the previous one.
func TestMarksOfWhatIsCreatedAgain(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	e.manage()
	for range 6 { // more often than a field is repaired at once
		e.install(csv("operator.v1", "server"))
		if live := e.get("operator.v1"); !slices.Contains(live.Finalizers, wellknown.FinalizerCSV) || live.Annotations[operatorsv1.OperatorGroupAnnotationKey] != "og" {
			t.Fatalf("finalizers %q, annotations %q", live.Finalizers, live.Annotations)
		}
		e.uninstall("operator.v1")
	}
}
