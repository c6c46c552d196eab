package conversion

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

var (
	// PathField is the path that a conversion calls.
	PathField = conversionField("path")
	// PortField is the port that a conversion calls.
	PortField = conversionField("port")
)

func conversionField(name string) *fieldpath.Set {
	return fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "conversion", "webhook", "clientConfig", "service", name))
}

// CallOf returns Service, port and path for a status; empty if the conversion calls no Service.
func CallOf(c *apiextensionsv1.CustomResourceConversion) string {
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil || c.Webhook.ClientConfig.Service == nil {
		return ""
	}
	return RouteOf(c).At(c.Webhook.ClientConfig.Service.Name)
}

// RouteOf returns the port and path that a conversion calls.
func RouteOf(c *apiextensionsv1.CustomResourceConversion) registration.Route {
	route := registration.Route{Port: registration.DefaultPort}
	if c == nil || c.Webhook == nil || c.Webhook.ClientConfig == nil || c.Webhook.ClientConfig.Service == nil {
		return route
	}
	service := c.Webhook.ClientConfig.Service
	if service.Port != nil {
		route.Port = *service.Port
	}
	if service.Path != nil {
		route.Path = *service.Path
	}
	return route
}
