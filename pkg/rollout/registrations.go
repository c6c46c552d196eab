package rollout

import (
	"cmp"
	"slices"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// registrations returns all live registrations, the oldest first. Caches have no order.
func (o Observed) registrations() []registration.Registration {
	objects := slices.Concat(drift.Objects(o.Validating), drift.Objects(o.Mutating), drift.Objects(o.APIServices))
	all := lists.Map(objects, registration.Of)
	slices.SortFunc(all, func(a, b registration.Registration) int {
		return cmp.Or(
			a.Object.GetCreationTimestamp().Compare(b.Object.GetCreationTimestamp().Time),
			cmp.Compare(a.Object.GetName(), b.Object.GetName()))
	})
	return all
}

// Configurations returns the names of the registrations, by webhook. The oldest one wins.
func (o Observed) Configurations(csv *operatorsv1alpha1.ClusterServiceVersion) map[csvspec.Identity]string {
	labelled := map[csvspec.Identity]string{} // by the label for the generateName
	for _, live := range o.registrations() {
		of := csvspec.Identity{Type: live.Kind, GenerateName: live.Object.GetLabels()[wellknown.LabelWebhookGenerateName]}
		if labelled[of] == "" {
			labelled[of] = live.Object.GetName()
		}
	}
	found := map[csvspec.Identity]string{}
	for _, description := range csv.Spec.WebhookDefinitions {
		if name := labelled[csvspec.Identity{Type: description.Type, GenerateName: names.LabelValue(description.GenerateName)}]; name != "" {
			found[csvspec.IdentityOf(description)] = name
		}
	}
	return found
}

// TrustsOf returns the trust of the live registrations and conversions that call a Service.
func (o Observed) TrustsOf(namespace, service string) []registration.Trust {
	var all []registration.Trust
	for _, live := range o.registrations() {
		if render.IsCanary(live.Object) {
			continue // API servers call the manager
		}
		for _, client := range registration.ClientsOf(live.Object) {
			if client.Service != nil && client.Service.Namespace == namespace && client.Service.Name == service {
				all = append(all, registration.TrustOf(live.Object, client.CABundle))
			}
		}
	}
	for _, crd := range o.CRDs {
		in, by := owners.ConvertedBy(crd)
		if in != namespace || by != service {
			continue
		}
		// Without a caBundle, API servers cannot call the webhook.
		if bundle := crd.Spec.Conversion.Webhook.ClientConfig.CABundle; len(bundle) > 0 {
			all = append(all, registration.TrustOf(crd, bundle))
		}
	}
	slices.SortStableFunc(all, func(a, b registration.Trust) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// A plan looks up each webhook several times.
type registrationIndex struct {
	named          map[registrationName]drift.Object
	configurations map[csvspec.Identity]string
}

type registrationName struct {
	kind operatorsv1alpha1.WebhookAdmissionType
	name string
}

func (f *facts) indexed() *registrationIndex {
	if f.index == nil {
		f.index = &registrationIndex{named: map[registrationName]drift.Object{}, configurations: f.Observed.Configurations(f.CSV)}
		for _, live := range f.Observed.registrations() {
			f.index.named[registrationName{live.Kind, live.Object.GetName()}] = live.Object
		}
	}
	return f.index
}

func (f *facts) registered(w render.Webhook) drift.Object {
	if w.Registration == nil {
		return nil
	}
	return f.indexed().named[registrationName{w.Description.Type, w.Registration.GetName()}]
}

func (f *facts) liveRegistration(d operatorsv1alpha1.WebhookDescription) drift.Object {
	index := f.indexed()
	name := index.configurations[csvspec.IdentityOf(d)]
	if d.Type == csvspec.APIServiceType {
		name = d.GenerateName
	}
	return index.named[registrationName{d.Type, name}]
}

// liveOf returns for a conversion the first definition.
func (f *facts) liveOf(w render.Webhook) drift.Object {
	for _, c := range w.Conversions {
		if live := f.Observed.CRDs[c.CRD]; live != nil && conversion.Calls(live, c) {
			return live
		}
	}
	if w.Registration == nil {
		return nil
	}
	return f.registered(w)
}

func (f *facts) asDeclared(w render.Webhook) bool {
	if w.Registration == nil {
		return true
	}
	live := f.registered(w)
	return live == nil || registration.DescriptionHash(live) == registration.DescriptionHash(w.Registration)
}

func (f *facts) declares(live registration.Registration) bool {
	return slices.ContainsFunc(f.Desired.Deployments, func(d render.Deployment) bool { return registeredBy(d, live) != nil })
}

// Created returns objects that no garbage collection deletes. Previous versions record their own.
func (o Observed) Created(csv *operatorsv1alpha1.ClusterServiceVersion) []managerv1alpha1.CreatedObject {
	var all []managerv1alpha1.CreatedObject
	note := func(live drift.Object) {
		if csvspec.HasOwnerLabels(live, csv) && live.GetUID() != "" {
			all = append(all, managerv1alpha1.CreatedObject{Kind: drift.KindOf(live), Namespace: live.GetNamespace(), Name: live.GetName(), UID: live.GetUID()})
		}
	}
	for _, live := range o.registrations() {
		if !render.IsCanary(live.Object) { // It exists for a moment.
			note(live.Object)
		}
	}
	for _, live := range slices.Concat(o.delegations(), o.Lifted) {
		note(live)
	}
	slices.SortFunc(all, func(a, b managerv1alpha1.CreatedObject) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return slices.Compact(all)
}

func (o Observed) isReserved(object drift.Object) bool {
	service, ok := object.(*apiregistrationv1.APIService)
	return ok && o.ReservedGroups[service.Spec.Group]
}

// isOccupied reports whether a step adds an APIService to a group that others serve.
func (o Observed) isOccupied(step Step) bool {
	service, ok := step.Object.(*apiregistrationv1.APIService)
	return ok && step.Verb == Create && o.OccupiedGroups[service.Spec.Group] != ""
}

// delegations returns the live bindings for servers of APIServices, sorted.
func (o Observed) delegations() []drift.Object {
	return append(drift.Objects(lists.ByKey(o.AuthDelegators)), drift.Objects(lists.ByKey(o.AuthReaders))...)
}
