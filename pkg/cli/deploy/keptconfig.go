package deploy

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

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
	merged := map[string]any{}
	if given != nil {
		if merged, err = runtime.DefaultUnstructuredConverter.ToUnstructured(given); err != nil {
			return nil, err
		}
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

// configOfOthers returns the fields of spec.config that other clients than the commands own, in the form of managedFields.
func configOfOthers(live *operatorsv1alpha1.Subscription) (all []map[string]any) {
	for _, m := range live.ManagedFields {
		if m.Manager == FieldManager || m.Subresource != "" || m.FieldsV1 == nil {
			continue
		}
		var owned struct {
			Spec struct {
				Config map[string]any `json:"f:config"`
			} `json:"f:spec"`
		}
		if json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned) == nil {
			all = append(all, owned.Spec.Config)
		}
	}
	return all
}

// keepOwned copies the owned fields that are not set. Of a map it copies the owned keys; a list has one owner here, and is
// copied as a whole.
func keepOwned(merged, present, owned map[string]any) (kept bool) {
	for field, below := range owned {
		name, isField := strings.CutPrefix(field, "f:")
		value, exists := present[name]
		if !isField || !exists {
			continue
		}
		values, isMap := value.(map[string]any)
		parts, _ := below.(map[string]any)
		if !isMap || len(parts) == 0 {
			if _, set := merged[name]; !set {
				merged[name], kept = value, true
			}
			continue
		}
		target, isMap := merged[name].(map[string]any)
		if !isMap {
			target = map[string]any{}
		}
		if keepOwned(target, values, parts) {
			merged[name], kept = target, true
		}
	}
	return kept
}
