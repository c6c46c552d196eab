package doctor

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// Facts are what a cluster shows of its webhooks.
type Facts struct {
	Webhooks []Webhook
	// Services are those that webhooks name and that are there.
	Services map[types.NamespacedName]Service
	// Namespaces are the labels of all.
	Namespaces map[string]map[string]string
	// ControlPlane are the objects that the control plane has to write.
	ControlPlane ControlPlane
	// Owners are the ClusterServiceVersions that are there.
	Owners map[types.NamespacedName]bool
	// NoCSVs tells that the cluster does not know the kind.
	NoCSVs bool
	// Answers are those of the endpoints of a webhook, by the webhook's String. An endpoint that
	// has no answer here was not asked.
	Answers map[string][]Answer
}

// ControlPlane is what is known of the objects that the control plane has to write.
type ControlPlane struct {
	// Nodes are the labels of the nodes, Leases those of the Leases by Namespace. Equal labels
	// are there once.
	Nodes  []map[string]string
	Leases map[string][]map[string]string
	// Unread are the resources that may not be listed.
	Unread []string
}

// Service is what stands behind a name that webhooks call.
type Service struct {
	// By is how API servers call it; ExternalName the name that they call, if they do.
	By           route.By
	ExternalName string
	// NodeLocal reports whether internalTrafficPolicy is Local.
	NodeLocal bool
	// Ports has each port of the Service, and how many ready endpoints there are behind it.
	Ports map[int32]int
	// Ready is how many endpoints are ready, at whichever port; LeftOver, how many are marked as
	// ready whose pods are deleted.
	Ready, LeftOver int
	// Owner is the ClusterServiceVersion that the Service's labels name; empty for none.
	Owner types.NamespacedName
	// Foreign tells that its endpoints are not pods that it selects: what becomes of them
	// cannot be told.
	Foreign bool
	// Labels are its own: the EndpointSlice controller copies them.
	Labels map[string]string
	// Slices are the labels of its EndpointSlices, with or without endpoints.
	Slices []map[string]string
	// Selector are the labels of the pods that it selects.
	Selector map[string]string
	// Pods are those of them that stay.
	Pods []Pod
	// Templates are the labels of those that would be made if pods were wanting.
	Templates []map[string]string
	// Unread are the kinds of objects that make pods, but may not be read in its namespace.
	Unread []string
}

// Answer is what dialling one endpoint gave, with the server name and the trust of a webhook.
// The zero value is an endpoint that was not asked.
type Answer struct {
	// Endpoint names it for people.
	Endpoint string
	// Asked reports whether the endpoint was dialled. Otherwise Message is the cause.
	Asked bool
	// Reason and Message are empty when it serves with a trusted certificate.
	Reason, Message string
	// NotAfter is when that certificate ends.
	NotAfter time.Time
}
