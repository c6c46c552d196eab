package doctor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// The kinds of objects that make API servers call webhooks.
const (
	Validating = "ValidatingWebhookConfiguration"
	Mutating   = "MutatingWebhookConfiguration"
	Conversion = "CustomResourceDefinition"
	APIService = "APIService"
)

// Webhook is one registration by which API servers call a server.
type Webhook struct {
	Kind   string // of the object that registers it
	Object string // its name
	Name   string // of the webhook in it; empty for a conversion and an APIService
	// Fails reports whether a request is refused when the call fails.
	Fails bool
	// Service is whom it calls, at Port; empty for one that is called by URL.
	Service  types.NamespacedName
	Port     int32
	URL      string
	CABundle []byte
	// Written is when the object that registers it was created. For a conversion it is when a client wrote spec.conversion
	// last; zero if managedFields do not show it.
	Written time.Time
	// Owner is the ClusterServiceVersion that the object's labels name; empty for none.
	Owner             types.NamespacedName
	Rules             []admissionregistrationv1.RuleWithOperations
	NamespaceSelector *metav1.LabelSelector
	ObjectSelector    *metav1.LabelSelector
	// Open is the state of an opening by the manager, Partly or All; empty for none.
	Open string
	// Conditional reports whether matchConditions may exempt requests that the rules match.
	Conditional bool
	// Unverified reports whether every certificate is trusted.
	Unverified bool
	Versions   int
	// Available is whether API servers call the APIService, as they report it; empty if they do not.
	Available metav1.ConditionStatus
	Report    string
}

// Idle reports whether no request needs it: a conversion of one version, and a webhook without rules.
func (w Webhook) Idle() bool {
	switch w.Kind {
	case Conversion:
		return w.Versions == 1
	case APIService:
		return false
	default:
		return len(w.Rules) == 0
	}
}

// String names the webhook for people, and is the same for no other.
func (w Webhook) String() string {
	switch {
	case w.Kind == APIService:
		return w.Kind + " " + w.Object
	case w.Name == "":
		return fmt.Sprintf("%s %s: conversion", w.Kind, w.Object)
	default:
		return fmt.Sprintf("%s %s: webhook %s", w.Kind, w.Object, w.Name)
	}
}

// Webhooks are those of a cluster, in the order of their names.
func Webhooks(validating []admissionregistrationv1.ValidatingWebhookConfiguration, mutating []admissionregistrationv1.MutatingWebhookConfiguration, crds []apiextensionsv1.CustomResourceDefinition) []Webhook {
	var all []Webhook
	for _, c := range mutating {
		for _, w := range webhookconfig.Webhooks(&c) {
			all = append(all, registration(Mutating, c.ObjectMeta, w))
		}
	}
	for _, c := range validating {
		for _, w := range c.Webhooks {
			all = append(all, registration(Validating, c.ObjectMeta, w))
		}
	}
	all = append(all, lists.FilterMap(crds, conversion)...)
	slices.SortFunc(all, func(a, b Webhook) int { return strings.Compare(a.String(), b.String()) })
	return all
}

func registration(kind string, meta metav1.ObjectMeta, of admissionregistrationv1.ValidatingWebhook) Webhook {
	client := of.ClientConfig
	return Webhook{
		Kind: kind, Object: meta.Name, Name: of.Name, CABundle: client.CABundle, Written: meta.CreationTimestamp.Time, Owner: OwnerOf(meta),
		Fails: ptr.Deref(of.FailurePolicy, admissionregistrationv1.Fail) == admissionregistrationv1.Fail,
		Rules: of.Rules, NamespaceSelector: of.NamespaceSelector, ObjectSelector: of.ObjectSelector, Conditional: len(of.MatchConditions) > 0,
		Open: meta.Annotations[wellknown.AnnotationFailOpen],
	}.calling(client.Service, client.URL)
}

func (w Webhook) calling(service *admissionregistrationv1.ServiceReference, url *string) Webhook {
	if service != nil {
		w.Service, w.Port = types.NamespacedName{Namespace: service.Namespace, Name: service.Name}, ptr.Deref(service.Port, 443)
	} else if url != nil {
		w.URL = *url
	}
	return w
}

func conversion(crd apiextensionsv1.CustomResourceDefinition) (Webhook, bool) {
	c := crd.Spec.Conversion
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil {
		return Webhook{}, false
	}
	client := c.Webhook.ClientConfig
	w := Webhook{
		Kind: Conversion, Object: crd.Name, CABundle: client.CABundle, Written: conversionWritten(crd.ManagedFields), Owner: OwnerOf(crd.ObjectMeta),
		Fails: true, Versions: len(crd.Spec.Versions),
	}
	return w.calling((*admissionregistrationv1.ServiceReference)(client.Service), client.URL), true
}

// conversionWritten returns when a client that owns fields of spec.conversion wrote last.
func conversionWritten(fields []metav1.ManagedFieldsEntry) time.Time {
	var last time.Time
	for _, entry := range fields {
		var owned struct {
			Spec struct {
				Conversion json.RawMessage `json:"f:conversion"`
			} `json:"f:spec"`
		}
		if entry.FieldsV1 == nil || entry.Time == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) != nil || owned.Spec.Conversion == nil {
			continue
		}
		if entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	return last
}

// OwnerNamed is a ClusterServiceVersion as labels name it: a label shortens a long name.
func OwnerNamed(namespace, csv string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: names.LabelValue(csv)}
}

// OwnerOf is the ClusterServiceVersion that an object's labels name; empty for none.
func OwnerOf(meta metav1.ObjectMeta) types.NamespacedName {
	return types.NamespacedName{Namespace: meta.Labels[wellknown.LabelOwnerNamespace], Name: meta.Labels[wellknown.LabelOwner]}
}
