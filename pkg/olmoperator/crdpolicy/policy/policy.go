// Package policy has the MutatingAdmissionPolicy that keeps in a CustomResourceDefinition what only the manager may
// change, and decides how it is written.
package policy

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Name is the name of the policy and of its binding.
const Name = "crds.olm-webhook-manager.io"

//go:embed policy.yaml
var policyText []byte

//go:embed binding.yaml
var bindingText []byte

// Policy returns the policy.
func Policy() *admissionregistrationv1.MutatingAdmissionPolicy {
	return decode[admissionregistrationv1.MutatingAdmissionPolicy](policyText)
}

// Binding returns the binding that applies the policy to all CustomResourceDefinitions.
func Binding() *admissionregistrationv1.MutatingAdmissionPolicyBinding {
	return decode[admissionregistrationv1.MutatingAdmissionPolicyBinding](bindingText)
}

func decode[T any](text []byte) *T {
	object := new(T)
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		panic(err) // it is a part of this package
	}
	return object
}

// Write is how an object is written.
type Write string

const (
	// Keep writes nothing.
	Keep Write = ""
	// Apply is a server-side apply.
	Apply Write = "apply"
	// Replace replaces spec: apply keeps the fields that other clients added, which can make the policy ineffective.
	Replace Write = "replace"
)

// Needed returns how an object has to be written. live is nil if it does not exist. The error names an object that
// another client created, and that the manager does not change.
func Needed(desired, live drift.Object) (Write, error) {
	if live == nil {
		return Apply, nil
	}
	if !IsOwn(live) {
		return Keep, fmt.Errorf("%s was created by another client, and the manager does not change it: delete it, and the manager creates its own", drift.KeyOf(live))
	}
	switch found := drift.Compare(desired, live, ".spec").Drift(); {
	case found.None():
		return Keep, nil
	case len(found.Extra) > 0:
		return Replace, nil
	default:
		return Apply, nil
	}
}

// Replacement returns a JSON patch that replaces spec of the live object.
func Replacement(desired, live drift.Object) ([]byte, error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(desired)
	if err != nil {
		return nil, err
	}
	return json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/resourceVersion", "value": live.GetResourceVersion()},
		{"op": "replace", "path": "/spec", "value": object["spec"]},
	})
}

// IsOwn reports whether the manager wrote an object.
func IsOwn(live drift.Object) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == wellknown.FieldManager && m.Operation == metav1.ManagedFieldsOperationApply
	})
}
