package deploy

import (
	"encoding/json"
	"fmt"
	"strings"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// KeptConfig returns the config of an installation with what server-side apply leaves in an existing Subscription: the fields
// of spec.config that other clients own, and that the installation does not set.
func KeptConfig(given *operatorsv1alpha1.SubscriptionConfig, live *operatorsv1alpha1.Subscription) (*operatorsv1alpha1.SubscriptionConfig, error) {
	if live.Spec == nil || live.Spec.Config == nil {
		return given, nil
	}
	present, err := configFields(live.Spec.Config)
	if err != nil {
		return nil, err
	}
	merged, err := configFields(given)
	if err != nil {
		return nil, err
	}
	kept := false
	for name, value := range present {
		if _, set := merged[name]; !set && ownedByOthers(live, name) {
			merged[name], kept = value, true
		}
	}
	if !kept {
		return given, nil
	}
	text, err := json.Marshal(merged)
	if err != nil {
		return nil, err
	}
	config := &operatorsv1alpha1.SubscriptionConfig{}
	if err := json.Unmarshal(text, config); err != nil {
		return nil, fmt.Errorf("the config of Subscription %s/%s: %w", live.Namespace, live.Name, err)
	}
	return config, nil
}

func configFields(config *operatorsv1alpha1.SubscriptionConfig) (map[string]json.RawMessage, error) {
	fields := map[string]json.RawMessage{}
	if config == nil {
		return fields, nil
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	return fields, json.Unmarshal(text, &fields)
}

// ownedByOthers reports whether another client than the commands owns a field of spec.config, or a part of it.
func ownedByOthers(live *operatorsv1alpha1.Subscription, name string) bool {
	for _, m := range live.ManagedFields {
		if m.Manager == FieldManager || m.Subresource != "" || m.FieldsV1 == nil {
			continue
		}
		var owned struct {
			Spec struct {
				Config map[string]any `json:"f:config"`
			} `json:"f:spec"`
		}
		if json.Unmarshal(m.FieldsV1.GetRawBytes(), &owned) != nil {
			return true
		}
		for field := range owned.Spec.Config {
			if strings.TrimPrefix(field, "f:") == name {
				return true
			}
		}
	}
	return false
}
