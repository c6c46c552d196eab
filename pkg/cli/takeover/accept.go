package takeover

import (
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// accepts reports whether the administrator accepts that a CSV is not given back completely.
func (o Options) accepts(c CSV) bool { return slices.Contains(o.Accepted, c.NamespacedName) }

// mayEnd reports whether undo does not wait for a CSV: it is accepted, and the manager has reported what is left.
func (o Options) mayEnd(c CSV) bool { return o.accepts(c) && c.Report.Form == formGivingBack }

// acceptance returns how the administrator accepts CSVs.
func acceptance(all []CSV) string {
	return "add " + strings.Join(lists.Map(all, func(c CSV) string { return "--accept " + c.String() }), " ")
}

// remedy ends a message about CSVs that undo waits for. It is empty if all of them are accepted.
func (o Options) remedy(all []CSV) string {
	others := lists.Filter(all, func(c CSV) bool { return !o.accepts(c) })
	if len(others) == 0 {
		return ""
	}
	return ". Correct the cause; or, to continue without waiting, " + acceptance(others)
}
