package clusterrole

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Belongs reports whether an existing ClusterRole of the desired name may be changed: it is for the same OperatorGroup
// by its labels, since the name contains the group's identity; or the same definition or APIService owns it by uid.
func Belongs(desired, live *rbacv1.ClusterRole) bool {
	if len(desired.OwnerReferences) == 0 {
		return !slices.ContainsFunc([]string{wellknown.LabelOwner, wellknown.LabelOwnerNamespace, wellknown.LabelOwnerKind}, func(label string) bool {
			return live.Labels[label] != desired.Labels[label]
		})
	}
	return slices.ContainsFunc(live.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == desired.OwnerReferences[0].UID })
}

// Suffices reports whether an existing ClusterRole has the desired permissions and labels. Then another owner may keep
// it.
func Suffices(desired, live *rbacv1.ClusterRole) bool {
	change := Between(desired, live)
	return !change.Rules && !change.Aggregation && len(change.Labels) == 0
}

// Change is how an existing ClusterRole differs from the desired one. Labels and owners of other clients stay. Its
// owner references contain the uid of the desired owner (see Belongs).
type Change struct {
	Labels      map[string]string
	Rules       bool
	Aggregation bool
}

// Between returns the change that makes a live ClusterRole the desired one.
func Between(desired, live *rbacv1.ClusterRole) Change {
	change := Change{Labels: map[string]string{}}
	for label, value := range desired.Labels {
		if live.Labels[label] != value {
			change.Labels[label] = value
		}
	}
	change.Aggregation = !equality.Semantic.DeepEqual(desired.AggregationRule, live.AggregationRule)
	// Kubernetes writes the rules of a ClusterRole that includes others. They stay when it does not any more.
	change.Rules = desired.AggregationRule == nil && !equality.Semantic.DeepEqual(desired.Rules, live.Rules)
	return change
}

// None reports whether nothing differs.
func (c Change) None() bool {
	return len(c.Labels) == 0 && !c.Rules && !c.Aggregation
}

// Patch returns a merge patch of the live ClusterRole, for the version that was read.
func (c Change) Patch(desired, live *rbacv1.ClusterRole) map[string]any {
	metadata := map[string]any{"uid": live.UID, "resourceVersion": live.ResourceVersion}
	patch := map[string]any{"metadata": metadata}
	if len(c.Labels) > 0 {
		metadata["labels"] = c.Labels
	}
	if c.Rules {
		patch["rules"] = append([]rbacv1.PolicyRule{}, desired.Rules...)
	}
	if c.Aggregation {
		patch["aggregationRule"] = desired.AggregationRule
	}
	return patch
}

// Fields returns the paths of the fields that differ, with the values to be written, to count repairs.
func (c Change) Fields(desired *rbacv1.ClusterRole) map[string]string {
	fields := map[string]string{}
	for label, value := range c.Labels {
		fields["metadata.labels."+label] = value
	}
	if c.Rules {
		fields["rules"] = ruleText(desired.Rules)
	}
	if c.Aggregation {
		fields["aggregationRule"] = desired.AggregationRule.String()
	}
	return fields
}

func ruleText(rules []rbacv1.PolicyRule) (text string) {
	for _, rule := range rules {
		text += rule.String()
	}
	return text
}
