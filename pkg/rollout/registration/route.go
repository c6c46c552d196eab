package registration

import (
	"fmt"

	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Route is the port of the Service and the path that a registration calls.
type Route struct {
	Port int32
	Path string
}

// RouteOf returns the port and the path that a registration calls.
func RouteOf(o drift.Object) Route {
	route := Route{Port: PortCalled(o)}
	if service := ServiceOf(o); service != nil && service.Path != nil {
		route.Path = *service.Path
	}
	return route
}

// CallOf returns Service, port and path for a status; empty if the registration calls no Service.
func CallOf(o drift.Object) string {
	service := ServiceOf(o)
	if service == nil {
		return ""
	}
	return RouteOf(o).At(service.Name)
}

// At returns the text for a route of a Service.
func (r Route) At(service string) string {
	return fmt.Sprintf("%s:%d%s", service, r.Port, r.Path)
}

// Until returns the message that one route is called until another one is served.
func (r Route) Until(other Route) string {
	switch {
	case r.Port == other.Port:
		return fmt.Sprintf("path %q is called until %q is served", r.Path, other.Path)
	case r.Path == other.Path:
		return fmt.Sprintf("port %d is called until %d is served", r.Port, other.Port)
	default:
		return fmt.Sprintf("path %q at port %d is called until %q at port %d is served", r.Path, r.Port, other.Path, other.Port)
	}
}

// WithLiveRoute keeps the live port and path, and the label of their description.
func WithLiveRoute(desired, live drift.Object) drift.Object {
	kept, route := desired.DeepCopyObject().(drift.Object), RouteOf(live)
	for _, client := range ClientsOf(kept) {
		if client.Service != nil && client.Service.Path != nil {
			client.Service.Path = &route.Path
		}
	}
	setPort(kept, route.Port)
	labels := kept.GetLabels()
	labels[wellknown.LabelWebhookHash] = DescriptionHash(live)
	kept.SetLabels(labels)
	return kept
}

func setPort(o drift.Object, port int32) {
	if api, ok := o.(*apiregistrationv1.APIService); ok && api.Spec.Service != nil {
		api.Spec.Service.Port = &port
		return
	}
	for _, client := range ClientsOf(o) {
		if client.Service != nil {
			client.Service.Port = &port
		}
	}
}
