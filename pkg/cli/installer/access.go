package installer

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

// denied returns which objects the user may not create, of the objects without a dry run.
func (a applier) denied(ctx context.Context, p Plan) (refused []error, err error) {
	for _, s := range p.steps {
		attributes, known := a.attributesOf(p, s)
		if s.Unchecked == "" || !known {
			continue
		}
		for _, verb := range []string{"create", "patch"} { // server-side apply needs both
			attributes.Verb = verb
			switch allowed, err := a.may(ctx, attributes); {
			case err != nil:
				return nil, err
			case !allowed:
				refused = append(refused, fmt.Errorf("%s: you may not %s %s in namespace %q: ask for this verb, or create the namespace first if that permits it",
					deploy.Title(s.Object), verb, attributes.Resource, attributes.Namespace))
			}
		}
	}
	return refused, nil
}

// undeletable returns which objects the user may not delete, and which of the records that change the user may not write.
// It asks for permissions only: an earlier deletion may end the webhook or policy that would refuse a later one.
func (a applier) undeletable(ctx context.Context, objects []*unstructured.Unstructured, records []deploy.Record) (refused []error, err error) {
	ask := func(title string, attributes authorizationv1.ResourceAttributes) error {
		allowed, err := a.may(ctx, attributes)
		if err == nil && !allowed {
			resource := schema.GroupResource{Group: attributes.Group, Resource: attributes.Resource}
			refused = append(refused, fmt.Errorf("%s: you may not %s %s: ask for this permission", title, attributes.Verb, resource))
		}
		return err
	}
	for _, o := range objects {
		kind := o.GroupVersionKind()
		mapping, err := a.mapper.RESTMapping(kind.GroupKind())
		if err != nil { // the deletion reports it
			continue
		}
		attributes := authorizationv1.ResourceAttributes{Namespace: o.GetNamespace(), Name: o.GetName(), Group: kind.Group, Resource: mapping.Resource.Resource, Verb: "delete"}
		if err := ask(deploy.Title(o), attributes); err != nil {
			return nil, err
		}
	}
	for _, rest := range records {
		attributes := authorizationv1.ResourceAttributes{Namespace: rest.Namespace, Name: deploy.RecordName(rest.Package), Resource: "configmaps", Verb: "update"}
		if len(rest.Objects) == 0 {
			attributes.Verb = "delete"
		}
		if err := ask(fmt.Sprintf("ConfigMap %s/%s", attributes.Namespace, attributes.Name), attributes); err != nil {
			return nil, err
		}
	}
	return refused, nil
}

// may reports whether the user may do something. It is true if the API server does not answer that question.
func (a applier) may(ctx context.Context, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
	answer, err := a.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("find out whether you may %s %s: %w", attributes.Verb, attributes.Resource, err)
	default:
		return answer.Status.Allowed, nil
	}
}

// attributesOf returns what creating an object asks for. The kind may be one that the bundle defines.
func (a applier) attributesOf(p Plan, s deploy.Step) (attributes authorizationv1.ResourceAttributes, known bool) {
	kind := s.Object.GroupVersionKind()
	attributes = authorizationv1.ResourceAttributes{Namespace: s.Object.GetNamespace(), Name: s.Object.GetName(), Group: kind.Group}
	if mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version); err == nil {
		attributes.Resource = mapping.Resource.Resource
		return attributes, true
	}
	if crd := p.definitionOf(kind.GroupKind()); crd != nil {
		attributes.Resource = crd.Spec.Names.Plural
		return attributes, true
	}
	return attributes, false
}
