package deploy

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// OwnConfig returns the part of the config of a Subscription that the commands have applied: server-side apply would remove it
// if it was left out. The rest belongs to other clients, and stays. It is nil if the commands own none.
func OwnConfig(live *operatorsv1alpha1.Subscription) (*operatorsv1alpha1.SubscriptionConfig, error) {
	owned := appliedConfig(live)
	if len(owned) == 0 {
		return nil, nil
	}
	present, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live.Spec.Config)
	if err != nil {
		return nil, err
	}
	own := map[string]any{}
	for _, names := range owned {
		if value, exists, _ := unstructured.NestedFieldNoCopy(present, names...); exists {
			err = errors.Join(err, unstructured.SetNestedField(own, value, names...))
		}
	}
	config := &operatorsv1alpha1.SubscriptionConfig{}
	if err := errors.Join(err, runtime.DefaultUnstructuredConverter.FromUnstructured(own, config)); err != nil {
		return nil, fmt.Errorf("the config of Subscription %s/%s: %w", live.Namespace, live.Name, err)
	}
	return config, nil
}

// appliedConfig returns the paths in spec.config that the commands own by server-side apply.
func appliedConfig(live *operatorsv1alpha1.Subscription) (all [][]string) {
	if live.Spec == nil || live.Spec.Config == nil {
		return nil
	}
	for _, m := range live.ManagedFields {
		if m.Manager != FieldManager || m.Operation != metav1.ManagedFieldsOperationApply || m.Subresource != "" || m.FieldsV1 == nil {
			continue
		}
		owned, _ := ownedFields(m)
		for _, path := range owned {
			if names := namesIn(path); len(names) > 2 && names[0] == "spec" && names[1] == "config" {
				all = append(all, names[2:])
			}
		}
	}
	return all
}

// namesIn returns the names of fields up to a list: a list has one owner here, and is copied as a whole.
func namesIn(path fieldpath.Path) (names []string) {
	for _, at := range path {
		if at.FieldName == nil {
			break
		}
		names = append(names, *at.FieldName)
	}
	return names
}
