package deploy

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// KeptConfig returns the config of an installation with what server-side apply leaves in an existing Subscription: the fields
// of spec.config that other clients own, and that the installation does not set.
func KeptConfig(given *operatorsv1alpha1.SubscriptionConfig, live *operatorsv1alpha1.Subscription) (*operatorsv1alpha1.SubscriptionConfig, error) {
	if live.Spec == nil || live.Spec.Config == nil {
		return given, nil
	}
	present, err := runtime.DefaultUnstructuredConverter.ToUnstructured(live.Spec.Config)
	if err != nil {
		return nil, err
	}
	merged, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cmp.Or(given, &operatorsv1alpha1.SubscriptionConfig{}))
	if err != nil {
		return nil, err
	}
	kept := false
	for _, owned := range configOfOthers(live) {
		kept = keepOwned(merged, present, owned) || kept
	}
	if !kept {
		return given, nil
	}
	config := &operatorsv1alpha1.SubscriptionConfig{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(merged, config); err != nil {
		return nil, fmt.Errorf("the config of Subscription %s/%s: %w", live.Namespace, live.Name, err)
	}
	return config, nil
}

// configOfOthers returns the paths in spec.config that other clients than the commands own.
func configOfOthers(live *operatorsv1alpha1.Subscription) (all [][]string) {
	for _, m := range live.ManagedFields {
		if m.Manager == FieldManager || m.Subresource != "" || m.FieldsV1 == nil {
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

func keepOwned(merged, present map[string]any, owned []string) (kept bool) {
	value, exists, _ := unstructured.NestedFieldNoCopy(present, owned...)
	_, set, err := unstructured.NestedFieldNoCopy(merged, owned...)
	return exists && !set && err == nil && unstructured.SetNestedField(merged, value, owned...) == nil
}
