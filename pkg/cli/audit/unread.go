package audit

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Unread is a resource whose objects could not be listed.
type Unread struct {
	Group string
	// Resource is empty if the resources of the group, or of a version of it, are not known.
	Resource string
	Reason   string
}

func (u Unread) String() string {
	if u.Resource == "" {
		return u.Reason
	}
	return schema.GroupResource{Group: u.Group, Resource: u.Resource}.String() + ": " + u.Reason
}

// unread has each text once, sorted.
func unread(all []Unread) []string {
	return lists.Sorted(lists.Map(all, Unread.String))
}

// isUnread reports whether it is not known which objects of a resource exist.
func (m matcher) isUnread(r schema.GroupResource) bool {
	return slices.ContainsFunc(m.unread, func(u Unread) bool {
		return u.Group == r.Group && u.Resource == "" || storage(schema.GroupResource{Group: u.Group, Resource: u.Resource}) == storage(r)
	})
}

// Undiscovered returns the API groups that a rule of a webhook names, and whose resources could not be read. failed has the
// causes. A rule for one version of a resource also sees requests of another version.
func Undiscovered(webhooks []Webhook, failed map[schema.GroupVersion]string) []Unread {
	var all []Unread
	for version, cause := range failed {
		if slices.ContainsFunc(webhooks, func(w Webhook) bool { return w.namesGroup(version.Group) }) {
			all = append(all, Unread{Group: version.Group, Reason: "the resources of " + version.String() + " could not be read: " + cause})
		}
	}
	return all
}

func (w Webhook) namesGroup(group string) bool {
	return w.Declared != nil && slices.ContainsFunc(w.Declared.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		return includes(r.APIGroups, group)
	})
}
