package decide

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

func deletion(secret *corev1.Secret) []rollout.Step {
	if secret == nil {
		return nil
	}
	return []rollout.Step{{Verb: rollout.Delete, Object: secret, Live: secret}}
}

func applyIfDiffers(desired, live *unstructured.Unstructured) []rollout.Step {
	if live == nil {
		return []rollout.Step{{Verb: rollout.Apply, Object: desired, Desired: desired}}
	}
	found := drift.Of(desired, live)
	if found.None() {
		return nil
	}
	return []rollout.Step{{Verb: rollout.Apply, Object: desired, Live: live, Drift: found, Desired: desired}}
}

func unstructuredOf(o runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}

func patch(desired, live drift.Object, fields map[string]string) rollout.Step {
	return rollout.Step{Verb: rollout.Patch, Object: desired, Live: live, Fields: fields, Drift: drift.Drift{Fields: slices.Sorted(maps.Keys(fields))}}
}
