package watch

import (
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// A change of one version concerns all APIServices of the group.
func (h *Handlers) enqueueAPIServiceOwners(group string) {
	h.Versions.Enqueue(h.Caches.CSVs.By(informers.ByGroup, group)...)
}

// apiChanged enqueues the ClusterServiceVersions that depend on a kind of the group.
func (h *Handlers) apiChanged(group schema.GroupVersion) {
	h.Served.Resources.Announce(group)
	h.Versions.Enqueue(h.Caches.CSVs.By(informers.ByAPI, csvspec.APIServiceName(group.Group, group.Version))...)
}

func (h *Handlers) apiServiceChanged(before, after drift.Object) {
	service := present(before, after)[0].(*apiregistrationv1.APIService)
	h.apiChanged(schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version})
	h.enqueueAPIServiceOwners(service.Spec.Group)
	h.ownersChanged(before, after)
}

func servedBy(o drift.Object) any {
	switch o := o.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		var catalog rules.Catalog
		if apihelpers.IsCRDConditionTrue(o, apiextensionsv1.Established) {
			catalog.AddDefinition(o)
		}
		return catalog
	case *apiregistrationv1.APIService:
		return []string{o.Spec.Version, o.Labels[wellknown.LabelAutomanaged], o.Spec.Service.String()}
	default:
		return nil
	}
}

// servedChanged compares the resources that rules name.
func (h *Handlers) servedChanged(before, after drift.Object) {
	if before != nil && after != nil && equality.Semantic.DeepEqual(servedBy(before), servedBy(after)) {
		return
	}
	for _, o := range present(before, after) {
		if service, ok := o.(*apiregistrationv1.APIService); ok {
			h.Served.Resources.Announce(schema.GroupVersion{Group: service.Spec.Group, Version: service.Spec.Version})
		}
	}
	for _, group := range informers.GroupsServedBy(present(before, after)[0]) {
		h.Versions.Enqueue(h.Caches.CSVs.By(informers.ByRuled, group)...)
	}
}

// crdChanged concerns also other kinds of the group.
func (h *Handlers) crdChanged(before, after drift.Object) {
	crd := present(before, after)[0].(*apiextensionsv1.CustomResourceDefinition)
	isProvider := func(p issuers.Provider) bool { return p.CRD == crd.Name }
	ofEachOperator := []string{owners.OperatorConditions.Resource.GroupResource().String(), subscriptions.ProxyResource.GroupResource().String()}
	if slices.ContainsFunc(issuers.Providers, isProvider) || slices.Contains(ofEachOperator, crd.Name) {
		h.Versions.Enqueue(h.Caches.CSVs.All()...)
	}
	h.Caches.StartPlans()
	h.Versions.Enqueue(h.Caches.CSVs.By(informers.ByCRD, crd.Name)...)
	h.enqueueAPIServiceOwners(crd.Spec.Group)
	for _, v := range crd.Spec.Versions {
		h.apiChanged(schema.GroupVersion{Group: crd.Spec.Group, Version: v.Name})
	}
	for _, o := range present(before, after) {
		namespace, service := owners.ConvertedBy(o.(*apiextensionsv1.CustomResourceDefinition))
		if owned := h.Caches.Services.Get(namespace, service); owned != nil {
			h.ownersChanged(nil, owned)
		}
	}
}
