package cluster

import (
	"context"
	"errors"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	rollouttakeover "github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
)

// reverted returns the Services, Roles, RoleBindings and conversions of a ClusterServiceVersion that run changes back. What
// the user may not read is not checked.
func (c TakeoverReader) reverted(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, subscription *operatorsv1alpha1.Subscription) (all []takeover.Reverted, notChecked []string, err error) {
	in := rollouttakeover.Input{Input: render.Input{CSV: csv, Config: subscriptions.ConfigOf(subscription)}}
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
	definitions, err := c.convertedBy(ctx, csv)
	if r.read("customresourcedefinitions", err) {
		in.Definitions = byName(definitions)
	}
	all = lists.Map(in.RevertedBeside(), func(d rollouttakeover.Difference) takeover.Reverted {
		return takeover.Reverted{Object: takeover.Object{Kind: drift.KindOf(d.Object), Namespace: d.Object.GetNamespace(), Name: d.Object.GetName()}, Fields: d.Fields}
	})
	return all, r.notChecked, errors.Join(r.errs...)
}

// convertedBy returns the existing definitions that a ClusterServiceVersion converts.
func (c TakeoverReader) convertedBy(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (all []apiextensionsv1.CustomResourceDefinition, err error) {
	for _, name := range lists.Sorted(csvspec.ConversionCRDs(csv)) {
		crd, err := c.Extensions.ApiextensionsV1().CustomResourceDefinitions().Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		default:
			all = append(all, *crd)
		}
	}
	return all, nil
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
