// Package policy has the MutatingAdmissionPolicy that keeps in a CustomResourceDefinition what only the manager may
// change, and decides how it is written.
package policy

import (
	_ "embed"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Apply reports whether an object has to be applied. live is nil if it does not exist. The error names the owner of an
// object that another client created, and that the manager does not change.
func Apply(desired, live drift.Object) (bool, error) {
	if live == nil {
		return true, nil
	}
	if !IsOwn(live) {
		return false, fmt.Errorf("%s was created by another client, and the manager does not change it: delete it, and the manager creates its own", drift.KeyOf(live))
	}
	return !drift.Of(desired, live).None(), nil
}

// IsOwn reports whether the manager wrote an object.
func IsOwn(live drift.Object) bool {
	return slices.ContainsFunc(live.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == wellknown.FieldManager && m.Operation == metav1.ManagedFieldsOperationApply
	})
}
