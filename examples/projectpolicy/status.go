package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
)

const fieldManager = "projectpolicy-webhook"

// statusReporter writes the condition Valid of each policy, in each replica. A write has the resourceVersion that was
// read: one replica writes, and the others get a conflict, retry and find nothing to write.
type statusReporter struct {
	policies dynamic.ResourceInterface
	lister   cache.GenericLister
}

func (r *statusReporter) reconcile(ctx context.Context, name cache.ObjectName) error {
	found, err := r.lister.Get(name.Name)
	if err != nil {
		return err
	}
	object := found.(*unstructured.Unstructured)
	p, err := decodePolicy(object)
	if err != nil {
		return err
	}
	condition := validity(p)
	if isReported(p.Status.Conditions, condition) {
		return nil
	}
	meta.SetStatusCondition(&p.Status.Conditions, condition)
	status, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&p.Status)
	if err != nil {
		return fmt.Errorf("encoding the status: %w", err)
	}
	updated := object.DeepCopy()
	updated.Object["status"] = status
	if _, err := r.policies.UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: fieldManager}); err != nil {
		return err
	}
	klog.InfoS("Wrote the status", "projectPolicy", name, "message", condition.Message)
	return nil
}

func validity(p *policy.ProjectPolicy) metav1.Condition {
	condition := metav1.Condition{
		Type:               policy.ConditionValid,
		Status:             metav1.ConditionTrue,
		Reason:             policy.ReasonEnforced,
		Message:            "All patterns are valid; the policy is enforced.",
		ObservedGeneration: p.Generation,
	}
	if _, err := policy.Compile(p); err != nil {
		condition.Status = metav1.ConditionFalse
		condition.Reason = policy.ReasonInvalidPattern
		condition.Message = "The whole policy is skipped until this is corrected: " + err.Error()
	}
	return condition
}

// isReported ignores the message: two versions of this server would replace each other's messages for ever.
func isReported(conditions []metav1.Condition, condition metav1.Condition) bool {
	reported := meta.FindStatusCondition(conditions, condition.Type)
	return reported != nil &&
		reported.Status == condition.Status &&
		reported.ObservedGeneration == condition.ObservedGeneration
}
