package convert

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

// convertDefinitions adds the CustomResourceDefinitions, and one webhook for the conversions with the same server, port, path and
// versions of reviews.
func (c *converter) convertDefinitions() {
	conversions := map[string]map[string]any{}
	for _, o := range c.objects {
		crd, is := o.Typed.(*apiextensionsv1.CustomResourceDefinition)
		if !is {
			if groupkind.Is(o, groupkind.CustomResourceDefinition) {
				c.handled[o] = true
				c.report(Error, o, "apiVersion", fmt.Sprintf("the definition has version %s of its API, which Kubernetes 1.22 removed: the definition is not in the bundle", o.GroupVersionKind().Version), "write it with apiVersion apiextensions.k8s.io/v1")
			}
			continue
		}
		c.handled[o] = true
		c.noteInjection(o)
		kept := o.DeepCopy()
		if conversion := crd.Spec.Conversion; conversion != nil && (conversion.Strategy != apiextensionsv1.WebhookConverter || c.convertConversion(o, crd, conversions)) {
			unstructured.RemoveNestedField(kept.Object, "spec", "conversion")
		}
		c.keep(o, kept)
		c.addOwned(crd)
	}
}

const lostConversion = "the conversion is not in the ClusterServiceVersion, and the manager does not serve it"

// convertConversion reports whether the bundle has the conversion of a definition.
func (c *converter) convertConversion(o *bundle.Object, crd *apiextensionsv1.CustomResourceDefinition, known map[string]map[string]any) bool {
	const path = "spec.conversion.webhook.clientConfig"
	webhook := crd.Spec.Conversion.Webhook
	if webhook == nil || webhook.ClientConfig == nil || webhook.ClientConfig.Service == nil {
		c.report(Error, o, path, "the conversion is called by a URL, or has no server: "+lostConversion, "let a Deployment of the operator serve the conversion, behind a Service")
		return false
	}
	service := webhook.ClientConfig.Service
	b, found := c.backendOf(o, path+".service", lostConversion, serviceReference{service.Namespace, service.Name, ptr.Deref(service.Port, 443)})
	if !found {
		return false
	}
	c.converts = true
	webhookPath := ptr.Deref(service.Path, "/")
	c.checkPath(o, path+".service.path", webhookPath)
	key := fmt.Sprint(b.deployment.typed.Name, b.port, b.target, webhookPath, webhook.ConversionReviewVersions)
	d := known[key]
	if d == nil {
		d = c.described(operatorsv1alpha1.ConversionWebhook, c.generateName(o, path, "convert."+crd.Spec.Group), b)
		d["webhookPath"] = webhookPath
		d["admissionReviewVersions"] = lists.Map(webhook.ConversionReviewVersions, func(version string) any { return version })
		d["sideEffects"] = "None"
		d["conversionCRDs"] = []any{}
		known[key] = d
		c.webhooks = append(c.webhooks, d)
	}
	d["conversionCRDs"] = append(d["conversionCRDs"].([]any), crd.Name)
	return true
}

// addOwned lists the served versions of a definition as owned.
func (c *converter) addOwned(crd *apiextensionsv1.CustomResourceDefinition) {
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		entry := map[string]any{"name": crd.Name, "version": version.Name, "kind": crd.Spec.Names.Kind, "displayName": crd.Spec.Names.Kind}
		if version.Schema != nil && version.Schema.OpenAPIV3Schema != nil {
			if text := sentence(version.Schema.OpenAPIV3Schema.Description); text != "" {
				entry["description"] = text
			}
		}
		if entry["description"] == nil {
			entry["description"] = fmt.Sprintf("The kind %s of %s.", crd.Spec.Names.Kind, crd.Spec.Group)
		}
		c.owned = append(c.owned, entry)
	}
}

// sentence returns the first paragraph of a text in one line.
func sentence(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n\n")
	return strings.Join(strings.Fields(first), " ")
}

// owns reports whether the operator owns a kind in a served version.
func (c *converter) owns(o *bundle.Object) bool {
	return slices.ContainsFunc(c.owned, func(entry any) bool {
		fields := entry.(map[string]any)
		_, group, _ := strings.Cut(fields["name"].(string), ".")
		version := o.GroupVersionKind()
		return group == version.Group && fields["version"] == version.Version && fields["kind"] == version.Kind
	})
}
