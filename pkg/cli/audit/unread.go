package audit

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Unread is a resource whose objects could not be listed.
type Unread struct {
	Resource schema.GroupResource
	Reason   string
}

func (u Unread) String() string { return u.Resource.String() + ": " + u.Reason }

// unread has each text once, sorted.
func unread(all []Unread) []string {
	return lists.Sorted(lists.Distinct(lists.Map(all, Unread.String)))
}

// isUnread reports whether it is not known which objects of a resource exist.
func (m matcher) isUnread(r schema.GroupResource) bool {
	return slices.ContainsFunc(m.unread, func(u Unread) bool { return storage(u.Resource) == storage(r) })
}
