// Package policy has the MutatingAdmissionPolicy that keeps what only the manager may change in a
// CustomResourceDefinition.
package policy

import (
	_ "embed"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
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
