package cluster

import (
	"context"
	"maps"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// Admission reads what admission depends on: webhooks, policies, their parameters, and what the API server serves.
func (c *Cluster) Admission(ctx context.Context) (explain.Snapshot, error) {
	s, err := c.registrations(ctx)
	if err != nil {
		return s, err
	}
	return s, addPolicies(ctx, c, &s)
}

// addPolicies reads the policies, and the objects of the kinds that they name as paramKind.
func addPolicies(ctx context.Context, c *Cluster, s *explain.Snapshot) error {
	for _, resource := range []schema.GroupVersionResource{
		configurations("mutatingadmissionpolicies"), configurations("mutatingadmissionpolicybindings"),
		configurations("validatingadmissionpolicies"), configurations("validatingadmissionpolicybindings"),
	} {
		if err := c.add(ctx, s, latest(s.Resources, resource)); err != nil {
			return err
		}
	}
	for _, kind := range s.ParamKinds() {
		if resource, known := s.Find(kind); known {
			if err := c.add(ctx, s, resource.GroupVersionResource); err != nil {
				return err
			}
		}
	}
	return nil
}

// registrations reads what the API server serves, Namespaces, definitions and webhooks.
func (c *Cluster) registrations(ctx context.Context) (explain.Snapshot, error) {
	var s explain.Snapshot
	client, err := Discovery(ctx, c.Config)
	if err != nil {
		return s, err
	}
	release, err := client.ServerVersion()
	if err != nil {
		return s, err
	}
	s.ReviewsAreExempt = explain.ReviewsAreExempt(release.GitVersion)
	_, served, err := client.ServerGroupsAndResources()
	failed, partly := discovery.GroupDiscoveryFailedErrorGroups(err)
	if err != nil && !partly {
		return s, err
	}
	s.Undiscovered = map[schema.GroupVersion]string{}
	for group, err := range failed {
		s.Undiscovered[group] = err.Error()
	}
	for _, list := range served {
		s.Resources = append(s.Resources, explain.Served(list)...)
	}
	for _, resource := range []schema.GroupVersionResource{
		Namespaces, Definitions, configurations("mutatingwebhookconfigurations"), configurations("validatingwebhookconfigurations"),
	} {
		if err := c.add(ctx, &s, latest(s.Resources, resource)); err != nil {
			return s, err
		}
	}
	return s, nil
}

func configurations(resource string) schema.GroupVersionResource {
	return admissionregistrationv1.SchemeGroupVersion.WithResource(resource)
}

// latest returns the first served version of a resource: older API servers serve some policies as v1beta1 only.
func latest(served []explain.Resource, of schema.GroupVersionResource) schema.GroupVersionResource {
	i := slices.IndexFunc(served, func(r explain.Resource) bool { return r.GroupResource() == of.GroupResource() && r.Subresource == "" })
	if i < 0 {
		return of
	}
	return served[i].GroupVersionResource
}

// add adds the objects of a resource. One that the API server does not serve has none.
func (c *Cluster) add(ctx context.Context, s *explain.Snapshot, resource schema.GroupVersionResource) error {
	list, err := c.Dynamic.Resource(resource).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, o := range list.Items {
		if err := s.Add(o); err != nil {
			return err
		}
	}
	return nil
}

// Stored returns an object of a resource.
func (c *Cluster) Stored(ctx context.Context, resource explain.Resource, namespace, name string) (*unstructured.Unstructured, error) {
	if !resource.Namespaced {
		namespace = ""
	}
	return c.Dynamic.Resource(resource.GroupVersionResource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// CurrentUser returns as whom the API server knows the user of this connection.
func (c *Cluster) CurrentUser(ctx context.Context) (explain.User, error) {
	review, err := c.Kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return explain.User{}, err
	}
	return userOf(review.Status.UserInfo), nil
}

func userOf(info authenticationv1.UserInfo) explain.User {
	extra := map[string][]string{}
	for key, value := range info.Extra {
		extra[key] = value
	}
	return explain.User{Name: info.Username, Groups: info.Groups, UID: info.UID, Extra: extra, Complete: true}
}

// Explain asks the authorizer what the conditions ask. An answer may lead to the next question.
func (c *Cluster) Explain(ctx context.Context, s explain.Snapshot, r explain.Request) (explain.Explanation, error) {
	s.Access = map[explain.Access]bool{}
	for {
		explanation, err := explain.Explain(s, r)
		if err != nil || len(explanation.Questions) == 0 {
			return explanation, err
		}
		answers, err := c.answersOf(ctx, explanation.Questions)
		if err != nil || len(answers) == 0 {
			return explanation, err
		}
		maps.Copy(s.Access, answers)
	}
}

// answersOf has no answer to a question that the user may not ask.
func (c *Cluster) answersOf(ctx context.Context, questions []explain.Access) (map[explain.Access]bool, error) {
	answers := map[explain.Access]bool{}
	for _, asked := range lists.Distinct(questions) {
		if asked.Selective {
			continue
		}
		review, err := c.Kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, reviewOf(asked), metav1.CreateOptions{})
		switch {
		case apierrors.IsForbidden(err):
			continue
		case err != nil:
			return nil, err
		}
		answers[asked] = review.Status.Allowed
	}
	return answers, nil
}

func reviewOf(asked explain.Access) *authorizationv1.SubjectAccessReview {
	spec := authorizationv1.SubjectAccessReviewSpec{User: asked.User}
	if asked.Groups != "" {
		spec.Groups = strings.Split(asked.Groups, ",")
	}
	if asked.Path != "" {
		spec.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: asked.Path, Verb: asked.Verb}
	} else {
		spec.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Namespace: asked.Namespace, Verb: asked.Verb, Group: asked.Group, Version: asked.Version, Resource: asked.Resource,
			Subresource: asked.Subresource, Name: asked.Object,
		}
	}
	return &authorizationv1.SubjectAccessReview{Spec: spec}
}
