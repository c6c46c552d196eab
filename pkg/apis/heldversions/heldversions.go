// Package heldversions reads which changes of a CustomResourceDefinition its policy holds: versions that are not
// served yet, a storage version, and a conversion webhook.
package heldversions

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Held is what a client wrote and the policy holds.
type Held struct {
	// Versions are not served, in the order of spec.versions.
	Versions []string
	// Storage is the version to store objects in; empty if the storage version is not held.
	Storage string
	// Conversion is nil if the conversion is not held.
	Conversion *apiextensionsv1.CustomResourceConversion
	// For are the ClusterServiceVersions that bring the change; none after a change of another client.
	For []types.NamespacedName
}

// Of reads the annotations of a definition. A version that is served, or that the definition does not have, is not
// held.
func Of(crd *apiextensionsv1.CustomResourceDefinition) Held {
	listed := split(crd.Annotations[wellknown.AnnotationHeldVersions])
	held := Held{Conversion: conversionOf(crd.Annotations[wellknown.AnnotationHeldConversion])}
	for _, v := range crd.Spec.Versions {
		if !v.Served && slices.Contains(listed, v.Name) {
			held.Versions = append(held.Versions, v.Name)
		}
		if !v.Storage && v.Name == crd.Annotations[wellknown.AnnotationHeldStorageVersion] {
			held.Storage = v.Name
		}
	}
	held.For = lists.FilterMap(split(crd.Annotations[wellknown.AnnotationHeldFor]), func(text string) (types.NamespacedName, bool) {
		namespace, name, valid := strings.Cut(text, "/")
		return types.NamespacedName{Namespace: namespace, Name: name}, valid
	})
	return held
}

// Annotated reports whether a definition has an annotation of a held change, also if nothing is held any more.
func Annotated(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return len(AnnotationsOf(crd)) > 0
}

// AnnotationsOf returns the annotations of held changes.
func AnnotationsOf(crd *apiextensionsv1.CustomResourceDefinition) map[string]string {
	all := maps.Clone(crd.Annotations)
	maps.DeleteFunc(all, func(name, _ string) bool { return !strings.HasPrefix(name, wellknown.AnnotationHeldPrefix) })
	return all
}

// Annotations returns the annotations that state what is held; none if nothing is held.
func (h Held) Annotations() map[string]string {
	all := map[string]string{}
	if len(h.Versions) > 0 {
		all[wellknown.AnnotationHeldVersions] = strings.Join(h.Versions, ",")
	}
	if h.Storage != "" {
		all[wellknown.AnnotationHeldStorageVersion] = h.Storage
	}
	if h.Conversion != nil {
		all[wellknown.AnnotationHeldConversion] = textOf(h.Conversion.Webhook)
	}
	if len(all) > 0 && len(h.For) > 0 {
		all[wellknown.AnnotationHeldFor] = strings.Join(lists.Map(h.For, types.NamespacedName.String), ",")
	}
	return all
}

// textOf is the inverse of conversionOf.
func textOf(w *apiextensionsv1.WebhookConversion) string {
	service := w.ClientConfig.Service
	fields := []string{service.Namespace, service.Name, strconv.Itoa(int(*service.Port)), ptr.Deref(service.Path, "")}
	return strings.Join(append(fields, w.ConversionReviewVersions...), ",")
}

// conversionOf returns nil for a text that the policy did not write.
func conversionOf(text string) *apiextensionsv1.CustomResourceConversion {
	fields := split(text)
	if len(fields) < 5 {
		return nil
	}
	port, err := strconv.ParseInt(fields[2], 10, 32)
	if err != nil {
		return nil
	}
	service := &apiextensionsv1.ServiceReference{Namespace: fields[0], Name: fields[1], Port: new(int32(port))}
	if fields[3] != "" {
		service.Path = &fields[3]
	}
	return &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig:             &apiextensionsv1.WebhookClientConfig{Service: service},
		ConversionReviewVersions: fields[4:],
	}}
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
