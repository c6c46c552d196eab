package explain

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Conversion is a conversion webhook that the API server calls for the request, before, between or after the steps.
type Conversion struct {
	// Definition is the CustomResourceDefinition of the conversion webhook.
	Definition string `json:"definition"`
	Reason     string `json:"reason"`
	OnFailure  string `json:"onFailure"`
}

// conversion returns nil if the API server calls no conversion webhook.
func (s Snapshot) conversion(r Request, steps []Step) *Conversion {
	i := slices.IndexFunc(s.Definitions, func(crd apiextensionsv1.CustomResourceDefinition) bool {
		return crd.Spec.Group == r.Resource.Group && crd.Spec.Names.Plural == r.Resource.Resource
	})
	if i < 0 || !convertsByWebhook(s.Definitions[i]) {
		return nil
	}
	crd := s.Definitions[i]
	reason := storedOtherwise(crd, r)
	if reason == "" {
		reason = sentOtherwise(r, steps)
	}
	if reason == "" {
		return nil
	}
	return &Conversion{crd.Name, reason, "a conversion webhook has no failurePolicy: without an answer the request fails"}
}

func convertsByWebhook(crd apiextensionsv1.CustomResourceDefinition) bool {
	return crd.Spec.Conversion != nil && crd.Spec.Conversion.Strategy == apiextensionsv1.WebhookConverter
}

// storedOtherwise returns which other version objects are or may be stored in; empty if there is none. API servers write
// objects in the storage version. They read them in the version of their last write.
func storedOtherwise(crd apiextensionsv1.CustomResourceDefinition, r Request) string {
	storage := lists.First(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Storage }).Name
	if r.Operation != admissionregistrationv1.Delete && storage != r.Resource.Version {
		return fmt.Sprintf("the request has version %s, and the API server stores version %s", r.Resource.Version, storage)
	}
	if r.Operation == admissionregistrationv1.Create {
		return ""
	}
	stored := crd.Status.StoredVersions
	if len(stored) == 0 {
		stored = []string{storage}
	}
	others := lists.Filter(stored, func(version string) bool { return version != r.Resource.Version })
	if len(others) == 0 {
		return ""
	}
	return fmt.Sprintf("the request has version %s, and the object may be stored in version %s", r.Resource.Version, strings.Join(others, " or "))
}

// sentOtherwise returns which step gets the object in another version; empty for none.
func sentOtherwise(r Request, steps []Step) string {
	step := lists.First(steps, func(s Step) bool {
		return (s.Verdict == Sees || s.Verdict == Unknown) && s.Version != "" && s.Version != r.Resource.GroupVersion().String()
	})
	if step.Kind == "" {
		return ""
	}
	return fmt.Sprintf("%s %s gets the object in version %s", step.Kind, step.Object, step.Version)
}
