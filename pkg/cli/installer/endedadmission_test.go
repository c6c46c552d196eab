package installer

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// What a deletion ends refuses no later one. A removal of an operator whose webhooks do not answer is possible.
func TestEndedAdmission(t *testing.T) {
	const csv = "{apiVersion: operators.coreos.com/v1alpha1, kind: ClusterServiceVersion, metadata: {name: shop.v1}, spec: {webhookdefinitions: [{generateName: v.shop.io, type: ValidatingAdmissionWebhook}]}}"
	const denied, unanswered = `admission webhook "v.shop.io" denied the request: no`, `Internal error occurred: failed calling webhook "v.shop.io": connection refused`
	for _, c := range []struct {
		deleted, answer string
		want            bool
	}{
		{"", denied, false},
		{csv, denied, true},
		{csv, unanswered, true},
		{csv, `admission webhook "other.shop.io" denied the request: no`, false},
		{csv, `clusterroles.rbac.authorization.k8s.io "a" is forbidden: User "eve" cannot delete resource`, false},
		{"", `admission webhook "v.shop.io" does not support dry run`, true},
		{"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: a}, webhooks: [{name: v.shop.io}]}", denied, true},
		{"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: p}}", "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", true},
		{"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}}", "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", true},
		{"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: b}}", "ValidatingAdmissionPolicy 'p' with binding 'other' denied request: no", false},
	} {
		var ended endedAdmission
		if c.deleted != "" {
			object := &unstructured.Unstructured{}
			installtest.Must(t, yaml.Unmarshal([]byte(c.deleted), &object.Object))
			ended.add(object)
		}
		installtest.Same(t, c.answer+" after "+c.deleted, c.want, ended.refuses(errors.New(c.answer)))
	}
	if (endedAdmission{""}).refuses(nil) {
		t.Error("an accepted deletion is refused")
	}
}
