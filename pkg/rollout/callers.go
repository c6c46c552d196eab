package rollout

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// caller is a live registration or conversion that calls a port of a Service.
type caller struct {
	port    int32
	webhook *render.Webhook // the desired webhook; nil if it is removed or calls another Service
	edited  bool            // the description changed after the registration was written
}

// moves reports whether the registration has to call another port, or is removed.
func (c caller) moves() bool { return c.webhook == nil || c.webhook.Port != c.port }

// swaps prevents that two registrations which exchange their ports wait for each other.
func (c caller) swaps(d render.Deployment, live *corev1.Service) bool {
	return c.webhook != nil && slices.ContainsFunc(live.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Port == c.webhook.Port && slices.ContainsFunc(d.Service.Spec.Ports, func(q corev1.ServicePort) bool {
			return q.Port == p.Port && backends.Target(q) != backends.Target(p)
		})
	})
}

func registeredBy(d render.Deployment, live registration.Registration) *render.Webhook {
	return webhookWhere(d, live.Registers)
}

func convertedFor(d render.Deployment, crd *apiextensionsv1.CustomResourceDefinition) *render.Webhook {
	return webhookWhere(d, func(w render.Webhook) bool {
		return slices.ContainsFunc(w.Conversions, func(c render.Conversion) bool { return c.CRD == crd.Name })
	})
}

func webhookWhere(d render.Deployment, is func(render.Webhook) bool) *render.Webhook {
	if i := slices.IndexFunc(d.Webhooks, is); i >= 0 {
		return &d.Webhooks[i]
	}
	return nil
}

// pendingPorts returns the ports that registrations move to and that none calls yet.
func pendingPorts(d render.Deployment, callers []caller) []int32 {
	var all []int32
	for _, port := range d.Service.Spec.Ports {
		moves := func(c caller) bool { return c.webhook != nil && c.moves() && c.webhook.Port == port.Port }
		calls := func(c caller) bool { return c.port == port.Port }
		if slices.ContainsFunc(callers, moves) && !slices.ContainsFunc(callers, calls) {
			all = append(all, port.Port)
		}
	}
	return all
}

func targetField(p corev1.ServicePort) *fieldpath.Set {
	key := fieldpath.KeyByFields("port", int64(p.Port), "protocol", string(cmp.Or(p.Protocol, corev1.ProtocolTCP)))
	return fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "ports", key, "targetPort"))
}

// A port that another client wrote into a registration does not count: it is repaired at once.
func (k *ports) callersOf(d render.Deployment) []caller {
	var all []caller
	for _, live := range k.Observed.registrations() {
		called := registration.ServiceOf(live.Object)
		if render.IsCanary(live.Object) || called == nil || called.Namespace != d.Service.Namespace || called.Name != d.Service.Name {
			continue
		}
		c := caller{port: registration.PortCalled(live.Object), webhook: registeredBy(d, live)}
		c.edited = c.webhook != nil && registration.DescriptionHash(live.Object) != registration.DescriptionHash(c.webhook.Registration)
		all = append(all, c)
	}
	for _, crd := range k.Observed.CRDs {
		if namespace, service := owners.ConvertedBy(crd); namespace != d.Service.Namespace || service != d.Service.Name || !conversion.HasBundle(crd, false) {
			continue
		}
		c := caller{port: conversion.RouteOf(crd.Spec.Conversion).Port, webhook: convertedFor(d, crd)}
		c.edited = c.webhook != nil && (!c.moves() || drift.SoleOwner(crd, conversion.PortField))
		all = append(all, c)
	}
	return slices.DeleteFunc(all, func(c caller) bool { return c.webhook != nil && c.moves() && !c.edited })
}

// callOf returns, while no registration exists, where API servers called last.
func (f *facts) callOf(d operatorsv1alpha1.WebhookDescription) string {
	called := ""
	if d.Type == operatorsv1alpha1.ConversionWebhook {
		called = f.conversionCallOf(d)
	} else if live := f.liveRegistration(d); isCalled(live) {
		called = registration.CallOf(live)
	}
	if called == "" {
		return f.lastCall(d)
	}
	return called
}

// conversionCallOf is empty if no definition names it, or if they call it in several ways, as during a change.
func (f *facts) conversionCallOf(d operatorsv1alpha1.WebhookDescription) string {
	called := ""
	for _, name := range d.ConversionCRDs {
		crd := f.Observed.CRDs[name]
		if crd == nil || !f.convertedHere(crd) {
			continue
		}
		at := conversion.CallOf(crd.Spec.Conversion)
		if called != "" && at != called {
			return ""
		}
		called = at
	}
	return called
}

// A webhook configuration without rules, which waits for a delegated caBundle, is called for nothing.
func isCalled(live drift.Object) bool {
	if live == nil {
		return false
	}
	_, api := live.(*apiregistrationv1.APIService)
	return api || len(registration.RulesOf(live)) > 0
}

// lastCall is empty if the previous status does not know it.
func (f *facts) lastCall(d operatorsv1alpha1.WebhookDescription) string {
	if before := f.previousStatus(d); before != nil {
		return before.Calls
	}
	return ""
}

// Without a registration, which another client may have deleted, the last known call counts. An unknown call differs.
func (f *facts) isCalledOtherwise(w render.Webhook) bool {
	if w.Description.Type == operatorsv1alpha1.ConversionWebhook {
		return slices.ContainsFunc(w.Conversions, func(c render.Conversion) bool {
			if f.notNamed(c) {
				return f.lastCall(w.Description) != conversion.CallOf(&c.Spec)
			}
			return f.conversionRouteEdited(c)
		})
	}
	live := f.registered(w)
	if !isCalled(live) {
		return f.lastCall(w.Description) != registration.CallOf(w.Registration)
	}
	return !registration.CallSameService(w.Registration, live) || registration.RouteOf(w.Registration) != registration.RouteOf(live)
}
