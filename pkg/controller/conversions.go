package controller

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/lineage"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// convertible are the CustomResourceDefinitions that a ClusterServiceVersion means
// to convert, and those that its Services, or its owners' of older versions, convert
// already. A Service that another client deleted is known by the Deployment that it was for.
func (c *gatherer) convertible(csv *operatorsv1alpha1.ClusterServiceVersion, owners []string) map[string]*apiextensionsv1.CustomResourceDefinition {
	found := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, d := range csv.Spec.WebhookDefinitions {
		for _, name := range d.ConversionCRDs {
			if crd := c.caches.CRDs.Get("", name); crd != nil {
				found[name] = crd
			}
		}
	}
	for _, service := range c.ownServiceNames(csv, owners) {
		for _, crd := range c.caches.CRDs.By(informers.ByConverter, csv.Namespace+"/"+service) {
			found[crd.Name] = crd
		}
	}
	return found
}

// ownServiceNames are the names of the Services of some owners in the namespace of a
// ClusterServiceVersion, and of those that are missing in front of their Deployments.
func (c *gatherer) ownServiceNames(csv *operatorsv1alpha1.ClusterServiceVersion, owners []string) []string {
	var all []string
	for _, service := range c.caches.Services.OfOwners(owners) {
		all = append(all, service.Name)
	}
	for _, d := range c.caches.Deployments.OfOwners(owners) {
		for _, name := range []string{names.Service(d.Name), csvspec.AlternateServiceName(csv, d.Name)} {
			if c.caches.Services.Get(csv.Namespace, name) == nil {
				all = append(all, name)
			}
		}
	}
	return all
}

// withRequired adds to some definitions those that a ClusterServiceVersion owns or
// requires, as far as they exist.
func (c *gatherer) withRequired(csv *operatorsv1alpha1.ClusterServiceVersion, crds map[string]*apiextensionsv1.CustomResourceDefinition) map[string]*apiextensionsv1.CustomResourceDefinition {
	all := maps.Clone(crds)
	for _, name := range csvspec.RequiredCRDs(csv) {
		if crd := c.caches.CRDs.Get("", name); crd != nil {
			all[name] = crd
		}
	}
	return all
}

// otherConverters are the Services of other ClusterServiceVersions than these that
// convert any of the definitions, as namespace/name.
func (c *gatherer) otherConverters(own []string, crds map[string]*apiextensionsv1.CustomResourceDefinition) map[string]bool {
	others := map[string]bool{}
	for _, crd := range crds {
		namespace, name := owners.ConvertedBy(crd)
		service := c.caches.Services.Get(namespace, name)
		if service == nil {
			continue
		}
		for _, owner := range informers.OwnersOf(service) {
			if !slices.Contains(own, owner) && len(c.caches.CSVs.OfOwner(owner)) > 0 {
				others[namespace+"/"+name] = true
			}
		}
	}
	return others
}

// foreignConversions are the definitions that a ClusterServiceVersion means to convert and whose
// conversion, which another client has set up, calls no Service of its versions. A Service that does
// not exist converts nothing.
func (c *gatherer) foreignConversions(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, relatives lineage.Lineage) (map[string]bool, error) {
	versions := slices.Concat([]*operatorsv1alpha1.ClusterServiceVersion{csv}, relatives.Older, relatives.Newer)
	foreign, decided := map[string]bool{}, map[string]bool{}
	for _, d := range csv.Spec.WebhookDefinitions {
		for _, name := range d.ConversionCRDs {
			crd := c.caches.CRDs.Get("", name)
			if decided[name] || crd == nil || !conversion.SetUpByOther(crd) {
				continue
			}
			decided[name] = true // a name may be listed any number of times
			namespace, service := owners.ConvertedBy(crd)
			calls, err := c.callsAnother(ctx, namespace, service, versions)
			if err != nil {
				return nil, err
			}
			if calls {
				foreign[name] = true
			}
		}
	}
	return foreign, nil
}

// callsAnother reports whether a Service exists and belongs to none of some versions, nor to any other
// ClusterServiceVersion (see otherConverters). One that the manager must not read counts as one, and
// so does a URL.
func (c *gatherer) callsAnother(ctx context.Context, namespace, name string, versions []*operatorsv1alpha1.ClusterServiceVersion) (bool, error) {
	if name == "" {
		return true, nil
	}
	if c.caches.Services.Get(namespace, name) != nil {
		return false, nil
	}
	service, err := c.Kube.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case apierrors.IsForbidden(err):
		return true, nil
	case err != nil:
		return false, err
	default:
		return !slices.ContainsFunc(versions, func(csv *operatorsv1alpha1.ClusterServiceVersion) bool { return owners.IsServiceOf(csv, service) }), nil
	}
}

// convert writes spec.conversion of the definition that was looked at, if it is that
// still.
func (c *writer) convert(ctx context.Context, live drift.Object, desired *apiextensionsv1.CustomResourceDefinition) (*apiextensionsv1.CustomResourceDefinition, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{
			"uid": desired.UID, "resourceVersion": desired.ResourceVersion,
			"annotations": annotationPatch(live.(*apiextensionsv1.CustomResourceDefinition), desired),
		},
		"spec": map[string]any{"conversion": conversionPatch(desired.Spec.Conversion)},
	})
	if err != nil {
		return nil, err
	}
	return c.Extensions.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, desired.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: wellknown.FieldManager})
}

// annotationPatch sets the annotations that go with the conversion, and takes away those
// that went with the one before.
func annotationPatch(live, desired *apiextensionsv1.CustomResourceDefinition) map[string]any {
	patch := map[string]any{wellknown.AnnotationGeneration: nil, wellknown.AnnotationPropagated: nil}
	for _, annotation := range conversion.Propagated(live) {
		patch[annotation] = nil
	}
	for annotation, value := range desired.Annotations {
		patch[annotation] = value
	}
	return patch
}

// conversionPatch replaces whatever conversion there is: a merge patch keeps what it
// does not name, and a URL beside a Service is refused.
func conversionPatch(conversion *apiextensionsv1.CustomResourceConversion) map[string]any {
	if conversion.Webhook == nil {
		return map[string]any{"strategy": conversion.Strategy, "webhook": nil}
	}
	return map[string]any{"strategy": conversion.Strategy, "webhook": map[string]any{
		"conversionReviewVersions": conversion.Webhook.ConversionReviewVersions,
		"clientConfig": map[string]any{
			"url":      nil,
			"service":  conversion.Webhook.ClientConfig.Service,
			"caBundle": conversion.Webhook.ClientConfig.CABundle,
		},
	}}
}

// count looks how many objects definitions have. Where that cannot be told, because
// their conversion fails or nobody may look, they are taken to have some.
func (c *writer) count(ctx context.Context, crds map[string]*apiextensionsv1.CustomResourceDefinition, unknown []string, objects map[string]int) {
	for _, name := range unknown {
		crd := crds[name]
		resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: readableVersion(crd), Resource: crd.Spec.Names.Plural}
		list, err := c.Metadata.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		if err != nil {
			c.log.WithError(err).WithField("crd", name).Warn("cannot see whether there are objects")
		}
		switch {
		case err != nil, list.Continue != "" && list.RemainingItemCount == nil:
			objects[name] = conversion.SomeObjects
		case list.RemainingItemCount != nil:
			objects[name] = len(list.Items) + int(*list.RemainingItemCount)
		default:
			objects[name] = len(list.Items)
		}
	}
}

// readableVersion is a served version, the stored one if it is served.
func readableVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	readable := ""
	for _, v := range crd.Spec.Versions {
		if v.Served && (readable == "" || v.Storage) {
			readable = v.Name
		}
	}
	return readable
}
