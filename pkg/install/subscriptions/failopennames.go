package subscriptions

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// named returns the resources of the named webhooks, none for all; nil without the annotation.
func (f *failOpenReader) named() map[string][]schema.GroupResource {
	value, set := f.annotations[wellknown.AnnotationFailOpenWebhooks]
	if !set {
		return nil
	}
	resources, whole := map[string][]schema.GroupResource{}, map[string]bool{}
	for _, entry := range commaSeparated(value) {
		name, resource, limited := strings.Cut(entry, "/")
		if !slices.Contains(admissionNames(f.csv), name) {
			f.refuse("%s names %q, which is no webhook that could open: its webhooks are %s", wellknown.AnnotationFailOpenWebhooks, name, strings.Join(admissionNames(f.csv), ", "))
			continue
		}
		if !limited {
			whole[name], resources[name] = true, nil
			continue
		}
		parsed, err := parseResource(resource)
		if err != nil {
			f.refuse("%s has %q: %v", wellknown.AnnotationFailOpenWebhooks, entry, err)
			continue
		}
		if !whole[name] && !slices.Contains(resources[name], parsed) {
			resources[name] = append(resources[name], parsed)
		}
	}
	return resources
}

// parseResource accepts resource or resource.group, without a subresource.
func parseResource(text string) (schema.GroupResource, error) {
	parsed := schema.ParseGroupResource(text)
	if problems := validation.IsDNS1035Label(parsed.Resource); len(problems) > 0 {
		return parsed, fmt.Errorf("%q is no resource: write its plural name and its group, as deployments.apps", parsed.Resource)
	}
	if parsed.Group == "" && !strings.Contains(text, ".") {
		return parsed, nil
	}
	if problems := validation.IsDNS1123Subdomain(parsed.Group); len(problems) > 0 {
		return parsed, fmt.Errorf("%q is no API group: write the plural name of the resource and its group, as deployments.apps", parsed.Group)
	}
	return parsed, nil
}
