package main

import (
	"encoding/json"
	"fmt"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
)

// systemNamespaces are those that a cluster cannot do without. The bundle's
// objectSelector spares the API server the call for them.
var systemNamespaces = []string{
	metav1.NamespaceSystem,
	metav1.NamespacePublic,
	corev1.NamespaceNodeLease,
	metav1.NamespaceDefault,
}

// judge decides whether a namespace is admitted. Nobody is above the policies,
// not even system:masters: an administrator who needs an exception writes it
// into the policy, where others can read it.
type judge struct {
	exempt  sets.Set[string]
	ruleset func() *ruleset
}

// newJudge exempts the system namespaces and the server's own one, so that no
// policy can shut out what would be needed to change it.
func newJudge(ownNamespace string, current func() *ruleset) *judge {
	return &judge{
		exempt:  sets.New(systemNamespaces...).Insert(ownNamespace),
		ruleset: current,
	}
}

// Review judges one request. A namespace being deleted passes, as its
// finalizers have to be removed, and so does a change that breaks no rule that
// was not broken before.
func (j *judge) Review(request *admissionv1.AdmissionRequest) *admissionv1.AdmissionResponse {
	if err := expectNamespaceWrite(request); err != nil {
		return badRequest(err)
	}
	namespace, err := decodeNamespace("object", request.Object)
	if err != nil {
		return badRequest(err)
	}
	if j.exempt.Has(namespace.Name) {
		return allow()
	}

	rules := j.ruleset()
	var before []policy.Violation
	if request.Operation == admissionv1.Update {
		old, err := decodeNamespace("oldObject", request.OldObject)
		if err != nil {
			return badRequest(err)
		}
		if old.DeletionTimestamp != nil {
			return allow()
		}
		before = rules.check(old)
	}

	response := allow()
	if violations := policy.Introduced(before, rules.check(namespace)); len(violations) > 0 {
		response = deny(http.StatusForbidden, metav1.StatusReasonForbidden, policy.Explain(namespace.Name, violations))
	}
	response.Warnings = rules.warnings()
	return response
}

// check holds a namespace against the policies in force.
func (r *ruleset) check(namespace *metav1.PartialObjectMetadata) []policy.Violation {
	return policy.Check(policy.Namespace{Name: namespace.Name, Labels: namespace.Labels}, r.inForce)
}

// warnings names the policies that are not in force, each well below the 256
// characters that the API server passes on.
func (r *ruleset) warnings() []string {
	var warnings []string
	for _, name := range r.broken {
		warnings = append(warnings, fmt.Sprintf("ProjectPolicy %.120q is not enforced: a pattern of it is invalid, see its condition %s", name, policy.ConditionValid))
	}
	return warnings
}

// expectNamespaceWrite refuses what the webhook's rules should not have sent
// here. To let it pass would hide that somebody believes it to be checked.
func expectNamespaceWrite(request *admissionv1.AdmissionRequest) error {
	namespaces := metav1.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	if request.Resource != namespaces || request.SubResource != "" {
		return fmt.Errorf("this webhook judges namespaces of v1 and was asked about %s: correct the rules of its registration", resourceName(request))
	}
	if request.Operation != admissionv1.Create && request.Operation != admissionv1.Update {
		return fmt.Errorf("this webhook judges CREATE and UPDATE and was asked about %s: correct the rules of its registration", request.Operation)
	}
	return nil
}

func resourceName(request *admissionv1.AdmissionRequest) string {
	name := request.Resource.Resource
	if request.SubResource != "" {
		name += "/" + request.SubResource
	}
	return name + " of " + metav1.GroupVersion{Group: request.Resource.Group, Version: request.Resource.Version}.String()
}

// decodeNamespace reads the metadata, which is all that policies speak about.
// The name that counts is the object's own, as it will be stored.
func decodeNamespace(field string, raw runtime.RawExtension) (*metav1.PartialObjectMetadata, error) {
	namespace := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(raw.Raw, namespace); err != nil {
		return nil, fmt.Errorf("request.%s is not a Namespace: %w", field, err)
	}
	if namespace.Name == "" {
		return nil, fmt.Errorf("request.%s is not a Namespace: it has no metadata.name", field)
	}
	return namespace, nil
}

func allow() *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Allowed: true}
}

func badRequest(err error) *admissionv1.AdmissionResponse {
	return deny(http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
}

func deny(code int32, reason metav1.StatusReason, message string) *admissionv1.AdmissionResponse {
	return &admissionv1.AdmissionResponse{Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	}}
}
