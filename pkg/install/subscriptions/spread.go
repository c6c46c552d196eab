package subscriptions

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// spread returns no constraint if one of the keys is not valid.
func (r *availabilityReader) spread() []corev1.TopologySpreadConstraint {
	text, set := r.annotations[wellknown.AnnotationAvailabilitySpread]
	if !set {
		return nil
	}
	entries := strings.FieldsFunc(text, func(c rune) bool { return c == ',' || c == ' ' || c == '\n' })
	if len(entries) == 0 {
		r.refuse("%s is empty: name topology keys, such as topology.kubernetes.io/zone, or remove it", wellknown.AnnotationAvailabilitySpread)
	}
	var constraints []corev1.TopologySpreadConstraint
	for _, entry := range entries {
		c, problem := constraintOf(entry)
		if problem == "" && slices.ContainsFunc(constraints, func(other corev1.TopologySpreadConstraint) bool { return other.TopologyKey == c.TopologyKey }) {
			problem = "names a topology key twice: remove one of the entries"
		}
		if problem != "" {
			r.refuse("%s is ignored, because %q %s", wellknown.AnnotationAvailabilitySpread, entry, problem)
			return nil
		}
		constraints = append(constraints, c)
	}
	return constraints
}

// constraintOf compares only the pods of one ReplicaSet: otherwise, the pods that a rollout replaces would count.
func constraintOf(entry string) (c corev1.TopologySpreadConstraint, problem string) {
	key, action, found := strings.Cut(entry, "=")
	c = corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.ScheduleAnyway, MatchLabelKeys: []string{appsv1.DefaultDeploymentUniqueLabelKey},
	}
	if found {
		c.WhenUnsatisfiable = corev1.UnsatisfiableConstraintAction(action)
	}
	switch {
	case len(validation.IsQualifiedName(key)) > 0:
		return c, "has no topology key: correct it to the key of a label of nodes, such as topology.kubernetes.io/zone"
	case c.WhenUnsatisfiable != corev1.ScheduleAnyway && c.WhenUnsatisfiable != corev1.DoNotSchedule:
		return c, "has neither DoNotSchedule nor ScheduleAnyway after the topology key: correct it"
	}
	return c, ""
}
