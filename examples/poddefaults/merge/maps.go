package merge

import (
	"fmt"
	"maps"
	"slices"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
)

func (m *merger) mergeMap(field string, existing map[string]string, of func(*v1alpha1.PodDefaultSpec) map[string]string) map[string]string {
	merged, owners := maps.Clone(existing), map[string]owner{}
	for _, d := range m.podDefaults {
		desired := of(&d.Spec)
		if merged == nil && len(desired) > 0 {
			merged = map[string]string{}
		}
		for _, key := range slices.Sorted(maps.Keys(desired)) {
			value, isThere := merged[key]
			switch {
			case !isThere:
				merged[key], owners[key] = desired[key], owner(d.Name)
			case value != desired[key]:
				m.conflict(Conflict{
					PodDefault: d.Name, Field: field, Key: key,
					Problem: fmt.Sprintf("%q does not match %q of %s", desired[key], value, owners[key].at(inPod)),
				})
			}
		}
	}
	return merged
}
