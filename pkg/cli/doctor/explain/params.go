package explain

import (
	"errors"
	"fmt"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// paramScope is the kind of the parameters of a policy. The zero value is that of a policy without parameters.
type paramScope struct {
	kind       schema.GroupVersionKind
	namespaced bool
}

// param is a parameter. One without an object stands for a policy or binding without parameters.
type param struct {
	name   string
	object runtime.Object
}

// ParamKinds are the kinds of the parameters of all policies.
func (s Snapshot) ParamKinds() []schema.GroupVersionKind {
	var kinds []*admissionregistrationv1.ParamKind
	for _, p := range s.MutatingPolicies {
		kinds = append(kinds, p.Spec.ParamKind)
	}
	for _, p := range s.ValidatingPolicies {
		kinds = append(kinds, p.Spec.ParamKind)
	}
	return lists.Distinct(lists.FilterMap(kinds, func(k *admissionregistrationv1.ParamKind) (schema.GroupVersionKind, bool) {
		if k == nil {
			return schema.GroupVersionKind{}, false
		}
		return schema.FromAPIVersionAndKind(k.APIVersion, k.Kind), true
	}))
}

// paramScope returns an error for a kind that the API server does not serve.
func (e *examination) paramScope(of *admissionregistrationv1.ParamKind) (paramScope, error) {
	if of == nil {
		return paramScope{}, nil
	}
	kind := schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)
	resource, known := e.Find(kind)
	if !known {
		return paramScope{}, fmt.Errorf("paramKind %s is not served", kind)
	}
	return paramScope{kind, resource.Namespaced}, nil
}

// params returns no parameter if none is found and the binding allows that.
func (e *examination) params(scope paramScope, ref *admissionregistrationv1.ParamRef) ([]param, error) {
	if scope.kind.Empty() || ref == nil {
		return []param{{}}, nil
	}
	namespace, err := paramNamespace(scope, ref, e.attr.GetNamespace())
	if err != nil {
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(ref.Selector)
	if err != nil {
		return nil, err
	}
	found := lists.Filter(e.Params, func(o unstructured.Unstructured) bool {
		return o.GroupVersionKind() == scope.kind && o.GetNamespace() == namespace &&
			(o.GetName() == ref.Name || ref.Name == "" && selector.Matches(labels.Set(o.GetLabels())))
	})
	if len(found) == 0 && ptr.Deref(ref.ParameterNotFoundAction, admissionregistrationv1.AllowAction) == admissionregistrationv1.DenyAction {
		return nil, errors.New("no parameter is found, and parameterNotFoundAction is Deny")
	}
	all := make([]param, 0, len(found))
	for _, o := range found {
		object, err := e.received(&o, o.GetNamespace(), false)
		if err != nil {
			return nil, err
		}
		all = append(all, param{strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"), object})
	}
	return all, nil
}

func paramNamespace(scope paramScope, ref *admissionregistrationv1.ParamRef, ofRequest string) (string, error) {
	switch {
	case !scope.namespaced && ref.Namespace != "":
		return "", errors.New("paramRef.namespace is set for a paramKind that is not namespaced")
	case !scope.namespaced:
		return "", nil
	case ref.Namespace != "":
		return ref.Namespace, nil
	case ofRequest == "":
		return "", errors.New("paramRef without a namespace cannot be used for a request that is not namespaced")
	default:
		return ofRequest, nil
	}
}
