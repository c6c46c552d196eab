package doctor

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Facts are what a cluster shows of its webhooks.
type Facts struct {
	Webhooks []Webhook
	// Services are those that webhooks name and that are there.
	Services map[types.NamespacedName]Service
	// Namespaces are the labels of all.
	Namespaces map[string]map[string]string
	// Owners are the ClusterServiceVersions that are there.
	Owners map[types.NamespacedName]bool
	// NoCSVs tells that the cluster does not know the kind.
	NoCSVs bool
	// Answers are what the pods behind a webhook said, by the webhook's String. A webhook
	// that is not in it was not asked.
	Answers map[string][]Answer
}

// Service is what stands behind a name that webhooks call.
type Service struct {
	Ports []int32
	// Ready is how many endpoints are ready; LeftOver, how many say so of pods that are gone.
	Ready, LeftOver int
	// Owner is the ClusterServiceVersion that the Service's labels name; empty for none.
	Owner types.NamespacedName
	// Foreign tells that its endpoints are not pods that it selects: what becomes of them
	// cannot be told.
	Foreign bool
	// Sliced tells that an EndpointSlice of it exists, with or without endpoints in it.
	Sliced bool
	// Selector are the labels of the pods that it selects.
	Selector map[string]string
	// Pods are those of them that stay.
	Pods []Pod
	// Templates are the labels of those that would be made if pods were wanting.
	Templates []map[string]string
	// Unread are the kinds of objects that make pods, but may not be read in its namespace.
	Unread []string
}

// Answer is what dialling one pod gave, with the server name and the trust of a webhook.
type Answer struct {
	// Reason and Message are empty when it serves with a trusted certificate.
	Reason, Message string
	// NotAfter is when that certificate ends.
	NotAfter time.Time
}
