package cluster

import (
	"context"
	"errors"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	rollouttakeover "github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
)

// inputOf reads the Services, Roles, RoleBindings, ClusterRoleBindings and conversions next to the Deployments of a
// ClusterServiceVersion. notChecked is what the user may not read.
func (c TakeoverReader) inputOf(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, subscription *operatorsv1alpha1.Subscription) (in rollouttakeover.Input, notChecked []string, err error) {
	in = rollouttakeover.Input{Input: render.Input{CSV: csv, Config: subscriptions.ConfigOf(subscription)}}
	r := revertedReader{namespace: csv.Namespace}
	services, err := c.Kube.CoreV1().Services(csv.Namespace).List(ctx, metav1.ListOptions{})
	if r.read("services", err) {
		in.Services = byName(services.Items)
	}
	roles, err := c.Kube.RbacV1().Roles(csv.Namespace).List(ctx, metav1.ListOptions{})
	if r.read("roles", err) {
		in.Roles = byName(roles.Items)
	}
	bindings, err := c.Kube.RbacV1().RoleBindings(csv.Namespace).List(ctx, metav1.ListOptions{})
	if r.read("rolebindings", err) {
		in.RoleBindings = byName(bindings.Items)
	}
	delegators, readers, err := c.delegations(ctx, csv)
	if r.read("clusterrolebindings", err) {
		in.ClusterRoleBindings, in.AuthReaders = byName(delegators), byName(readers)
	}
	definitions, err := c.convertedBy(ctx, csv)
	if r.read("customresourcedefinitions", err) {
		in.Definitions = byName(definitions)
	}
	return in, r.notChecked, errors.Join(r.errs...)
}

// delegations returns the existing bindings of the servers of APIServices of a ClusterServiceVersion.
func (c TakeoverReader) delegations(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (delegators []rbacv1.ClusterRoleBinding, readers []rbacv1.RoleBinding, err error) {
	for _, deployment := range csvspec.DeploymentNames(csv) {
		if len(csvspec.ServedAPIServices(csv, deployment)) == 0 {
			continue
		}
		usual := permissions.UsualDelegation(names.Service(deployment))
		delegator, err := c.Kube.RbacV1().ClusterRoleBindings().Get(ctx, usual.Delegator, metav1.GetOptions{})
		if delegators, err = withExisting(delegators, delegator, err); err != nil {
			return nil, nil, err
		}
		reader, err := c.Kube.RbacV1().RoleBindings(permissions.AuthReaderNamespace).Get(ctx, usual.Reader, metav1.GetOptions{})
		if readers, err = withExisting(readers, reader, err); err != nil {
			return nil, nil, err
		}
	}
	return delegators, readers, nil
}

// convertedBy returns the existing definitions that a ClusterServiceVersion converts.
func (c TakeoverReader) convertedBy(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (all []apiextensionsv1.CustomResourceDefinition, err error) {
	for _, name := range lists.Sorted(csvspec.ConversionCRDs(csv)) {
		crd, err := c.Extensions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		if all, err = withExisting(all, crd, err); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// withExisting adds an object that was read, unless it does not exist.
func withExisting[T any](all []T, o *T, err error) ([]T, error) {
	switch {
	case apierrors.IsNotFound(err):
		return all, nil
	case err != nil:
		return nil, err
	default:
		return append(all, *o), nil
	}
}

// revertedReader collects what cannot be read.
type revertedReader struct {
	namespace  string
	notChecked []string
	errs       []error
}

func (r *revertedReader) read(resource string, err error) bool {
	switch {
	case apierrors.IsForbidden(err):
		r.notChecked = append(r.notChecked, fmt.Sprintf("whether %s were edited for operators of namespace %s: the user needs the permission to read them", resource, r.namespace))
	case err != nil:
		r.errs = append(r.errs, err)
	}
	return err == nil
}

// byName returns pointers to the objects of a list.
func byName[T any, P interface {
	*T
	metav1.Object
}](all []T) map[string]P {
	named := map[string]P{}
	for i := range all {
		named[P(&all[i]).GetName()] = &all[i]
	}
	return named
}
