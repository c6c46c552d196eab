package cluster

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// unreadIn describes objects that the user may not read.
func unreadIn(namespace, resource string) string {
	return fmt.Sprintf("what run changes in %s of namespace %s: the user needs the permission to list them", resource, namespace)
}

// live reads the objects of a ClusterServiceVersion in which run changes something. notChecked is what the user may not read.
func (c TakeoverReader) live(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, deployments []appsv1.Deployment) (l takeover.Live, notChecked []string, err error) {
	l = takeover.Live{CSV: csv, Objects: map[string][]metav1.Object{}}
	owner := takeover.CSV{}
	owner.Namespace, owner.Name = csv.Namespace, csv.Name
	for _, kind := range owners.Kinds {
		list, err := c.Metadata.Resource(kind.Resource).Namespace(csv.Namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsForbidden(err) {
			l.Unread, notChecked = append(l.Unread, kind.Name), append(notChecked, unreadIn(csv.Namespace, kind.Resource.Resource))
			continue
		}
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return l, nil, err
		}
		for i := range list.Items {
			if ownedBy(list.Items[i].ObjectMeta, owner) {
				l.Objects[kind.Name] = append(l.Objects[kind.Name], &list.Items[i])
			}
		}
	}
	bindings, err := c.Kube.RbacV1().RoleBindings(csv.Namespace).List(ctx, metav1.ListOptions{})
	if utilerrors.FilterOut(err, apierrors.IsForbidden) != nil {
		return l, nil, err
	}
	if err == nil {
		l.Bindings = lists.Map(bindings.Items, func(b rbacv1.RoleBinding) *rbacv1.RoleBinding { return &b })
	}
	definitions, unread, err := c.converted(ctx, csv)
	if err != nil {
		return l, nil, err
	}
	notChecked = append(notChecked, unread...)
	converters := map[string]*appsv1.Deployment{}
	for i := range deployments {
		if ownedBy(deployments[i].ObjectMeta, owner) {
			converters[deployments[i].Name] = &deployments[i]
		}
	}
	l.Owners = owners.DefinitionOwnersOf(csv, converters, nil, definitions)
	l.Readers, unread, err = c.readers(ctx, csv)
	return l, append(notChecked, unread...), err
}

// converted returns the definitions that a ClusterServiceVersion converts, by their names.
func (c TakeoverReader) converted(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (all map[string]*apiextensionsv1.CustomResourceDefinition, notChecked []string, err error) {
	all = map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, name := range csvspec.ConversionCRDs(csv) {
		object, err := c.Dynamic.Resource(Definitions).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsForbidden(err) {
			notChecked = append(notChecked, fmt.Sprintf("what run changes for the conversion of CustomResourceDefinition %s: the user needs the permission to get it", name))
			continue
		}
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
			return nil, nil, err
		}
		all[name] = crd
	}
	return all, notChecked, nil
}

// readers returns the bindings in the namespace kube-system of servers of APIServices.
func (c TakeoverReader) readers(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (all []metav1.Object, notChecked []string, err error) {
	serving := slices.DeleteFunc(csvspec.DeploymentNames(csv), func(name string) bool { return len(csvspec.ServedAPIServices(csv, name)) == 0 })
	for _, name := range serving {
		reader, err := c.Kube.RbacV1().RoleBindings(metav1.NamespaceSystem).Get(ctx, names.AuthReader(names.Service(name)), metav1.GetOptions{})
		if apierrors.IsForbidden(err) {
			notChecked = append(notChecked, unreadIn(metav1.NamespaceSystem, "rolebindings"))
			continue
		}
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		all = append(all, reader)
	}
	return all, notChecked, nil
}
