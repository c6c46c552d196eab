package deploy

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	api "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// What another namespace refuses counts only if the type of the object is the reason.
func TestRefusedElsewhere(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Service"}}
	o.SetNamespace("shop")
	o.SetName("web")
	name, services := DryRunCopy(o).GetName(), api.GroupResource{Resource: "services"}
	ports := field.ErrorList{field.Invalid(field.NewPath("spec", "ports"), 99999, "must be lower")}
	policy := apierrors.NewForbidden(services, name, errors.New("ValidatingAdmissionPolicy 'a' with binding 'b' denied request: no"))
	policy.ErrStatus.Reason, policy.ErrStatus.Code = metav1.StatusReasonInvalid, 422
	for text, test := range map[string]struct {
		err  error
		want string
	}{
		"accepted":                  {nil, ""},
		"invalid":                   {apierrors.NewInvalid(api.GroupKind{Kind: "Service"}, name, ports), `Service shop/web: Service "web" is invalid: spec.ports`},
		"not to be decoded":         {apierrors.NewBadRequest("json: cannot unmarshal string into Go struct field"), "Service shop/web: json: cannot"},
		"a field that it lacks":     {apierrors.NewInternalError(errors.New("failed to create typed patch object (default/" + name + "; /v1, Kind=Service): .spec.a: field not declared in schema")), "typed patch object (shop/web; /v1"},
		"a quota":                   {apierrors.NewForbidden(services, name, errors.New("exceeded quota: a")), ""},
		"a policy":                  {policy, ""},
		"a webhook":                 {apierrors.NewBadRequest(`admission webhook "a.example.com" denied the request: no`), ""},
		"a webhook without dry run": {apierrors.NewBadRequest(`admission webhook "a.example.com" does not support dry run`), ""},
		"no permission":             {apierrors.NewForbidden(services, name, errors.New("no")), ""},
		"an absent role":            {apierrors.NewNotFound(api.GroupResource{Resource: "roles"}, "a"), ""},
	} {
		t.Run(text, func(t *testing.T) {
			err := DryRunRefusal(o, test.err)
			installtest.Error(t, test.want, err)
		})
	}
}
