package render

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
)

// Opening is which requests pass while the backend of a webhook does not answer.
type Opening struct {
	State managerv1alpha1.FailOpenState
	// Requests is the CEL expression for the requests that pass; empty for all.
	Requests string
}

// Opened returns a webhook whose registration has an opening.
func (w Webhook) Opened(o Opening) Webhook {
	if w.Registration != nil {
		w.Registration = w.Registration.DeepCopyObject().(Object)
		webhookconfig.Open(w.Registration, o.State, o.Requests)
	}
	return w
}

// A CEL expression of an opening must not fail, as that of an exemption: see package exemptions.

// FirstRequests returns the CEL expression for the requests that pass first: those of nodes, and those about objects in the
// operator's namespace, not about the Namespace itself. Without resources, it is about all.
func FirstRequests(namespace string, resources []schema.GroupResource) string {
	first := `has(request.userInfo.groups) && "system:nodes" in request.userInfo.groups || has(request.namespace) && request.namespace == ` + strconv.Quote(namespace) +
		` && !(request.resource.group == "" && request.resource.resource == "namespaces")`
	if about := RequestsAbout(resources); about != "" {
		return "(" + first + ") && (" + about + ")"
	}
	return first
}

// RequestsAbout returns the CEL expression for requests about resources and their subresources; empty for all resources.
func RequestsAbout(resources []schema.GroupResource) string {
	return strings.Join(lists.Map(resources, func(r schema.GroupResource) string {
		return "request.resource.group == " + strconv.Quote(r.Group) + " && request.resource.resource == " + strconv.Quote(r.Resource)
	}), " || ")
}
