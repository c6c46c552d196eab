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
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
)

func TestContestOverACertificate(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	e.certManager()
	choose(e, managerv1alpha1.ProviderCertManager)
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	changeCertificates(ctx, e)
	since, m := auditEnd(e), e.manage()
	e.create(csv("operator.v1", "server"))
	e.eventually("the status reports that the Certificate is contested", func() (bool, any) {
		c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionContested)
		return c != nil && strings.Contains(c.Message, "Certificate "+e.namespace+"/"), c
	})
	writes := slices.DeleteFunc(m.writes(since), func(write string) bool { return !strings.Contains(write, "certificates") })
	if len(writes) < 2 || len(writes) > 8 {
		t.Errorf("the manager wrote its two Certificates %d times before it paused, want at most 4 times each", len(writes))
	}
}

// A field of a Certificate that admission sets is accepted, and reported.
func TestCertificateChangedByAdmission(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	e.certManager()
	mutates(e, "cert-manager.io", "certificates", fmt.Sprintf("object.metadata.namespace == %q", e.namespace),
		`[JSONPatch{op: "add", path: "/spec/privateKey", value: {"rotationPolicy": "Never"}}]`, admissionregistrationv1.Create, admissionregistrationv1.Update)
	choose(e, managerv1alpha1.ProviderCertManager)
	probe := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": map[string]any{"name": "probe"},
		"spec": map[string]any{"secretName": "probe", "issuerRef": map[string]any{"name": "probe"}},
	}}
	e.eventually("the policy works", func() (bool, any) {
		created, err := e.any.Resource(issuers.Certificates).Namespace(e.namespace).Create(e.ctx, probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil { // a policy refuses objects of a new definition until the API server has read its schema
			return false, err
		}
		policy, _, _ := unstructured.NestedString(created.Object, "spec", "privateKey", "rotationPolicy")
		return policy == "Never", policy
	})
	since, m := auditEnd(e), e.manage()
	e.create(csv("operator.v1", "server"))
	e.eventually("the status reports what admission changed", func() (bool, any) {
		conditions := e.rollout("operator.v1").Conditions
		c := meta.FindStatusCondition(conditions, managerv1alpha1.ConditionChangedByAdmission)
		return c != nil && strings.Contains(c.Message, "Certificate "+e.namespace+"/") && strings.Contains(c.Message, "spec.privateKey.rotationPolicy"), conditions
	})
	e.succeeds("operator.v1")
	m.looksAgain("operator.v1")
	same(t, "the condition Contested", meta.FindStatusCondition(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionContested), nil)
	writes := slices.DeleteFunc(m.writes(since), func(write string) bool { return !strings.Contains(write, " certificates ") })
	if len(writes) > 4 {
		t.Errorf("%d writes of two Certificates:\n%s", len(writes), strings.Join(writes, "\n"))
	}
}

// changeCertificates changes each Certificate that is as the manager wrote it.
func changeCertificates(ctx context.Context, e *env) {
	e.Helper()
	certificates := e.any.Resource(issuers.Certificates).Namespace(e.namespace)
	events, err := certificates.Watch(ctx, metav1.ListOptions{})
	e.must(err)
	go func() {
		for event := range events.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			if policy, there, _ := unstructured.NestedString(object.Object, "spec", "privateKey", "rotationPolicy"); !there || policy == "Never" {
				continue
			}
			_, err := certificates.Patch(ctx, object.GetName(), types.MergePatchType, []byte(`{"spec":{"privateKey":{"rotationPolicy":"Never"}}}`), metav1.PatchOptions{FieldManager: "gitops"})
			if err != nil && ctx.Err() == nil {
				e.Log(err)
			}
		}
	}()
}
