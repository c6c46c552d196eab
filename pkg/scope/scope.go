// Package scope determines which namespaces an OperatorGroup covers, their label, and the namespaceSelector.
package scope

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Scope is what the OperatorGroup of a ClusterServiceVersion's namespace covers.
type Scope struct {
	// Group is the only OperatorGroup of the namespace.
	Group *operatorsv1.OperatorGroup
	// Namespaces are the group's targets, sorted. [""] is all namespaces.
	Namespaces []string
}

// ForNamespace returns the scope of a namespace with some groups. One that is being deleted does not count:
// it labels no namespace, so a webhook that selects by its label would match nothing. namespaces are all of
// the cluster.
func ForNamespace(namespace string, groups []*operatorsv1.OperatorGroup, namespaces []*corev1.Namespace) (Scope, *Failure) {
	live := notDeleting(groups)
	switch {
	case len(live) == 0:
		return Scope{}, noGroup(namespace, groups)
	case len(live) > 1:
		return Scope{}, &Failure{
			operatorsv1alpha1.CSVReasonTooManyOperatorGroups,
			"csv created in namespace with multiple operatorgroups, can't pick one automatically: " + groupNames(live) + "; keep one of them",
		}
	}
	group := live[0]
	targets, err := Targets(group, namespaces)
	switch {
	case err != nil:
		return Scope{}, noTargets(err.Error())
	case len(targets) == 0:
		return Scope{}, noTargets(fmt.Sprintf(
			"spec.selector of OperatorGroup %q (%s) matches no namespace; label the namespaces that it is meant for, or change it",
			group.Name, metav1.FormatLabelSelector(group.Spec.Selector)))
	}
	return Scope{Group: group, Namespaces: targets}, nil
}

// Supported returns nil if the ClusterServiceVersion supports the install mode of the scope.
func (s Scope) Supported(csv *operatorsv1alpha1.ClusterServiceVersion) *Failure {
	modes, err := operatorsv1alpha1.NewInstallModeSet(csv.Spec.InstallModes)
	if err != nil {
		return &Failure{operatorsv1alpha1.CSVReasonInvalidInstallModes, err.Error() + ": list each type once in spec.installModes"}
	}
	if err := modes.Supports(s.Group.Namespace, s.Namespaces); err != nil {
		return unsupported(err, csv.Spec.InstallModes, s.Group)
	}
	return nil
}

// WebhookSelector returns the selector for webhooks: for all namespaces an empty one, as it is stored.
func (s Scope) WebhookSelector() *metav1.LabelSelector {
	switch spec := s.Group.Spec; {
	case len(spec.TargetNamespaces) > 0:
		return &metav1.LabelSelector{MatchLabels: map[string]string{LabelOf(s.Group): ""}}
	case spec.Selector != nil:
		return spec.Selector.DeepCopy()
	default:
		return &metav1.LabelSelector{}
	}
}

// MayCover is true for any namespace where the group selects by labels, which come and go.
func (s Scope) MayCover(namespace string) bool {
	return s.Group != nil && s.Group.Spec.Selector != nil && len(s.Group.Spec.TargetNamespaces) == 0 ||
		slices.Contains(s.Namespaces, metav1.NamespaceAll) || slices.Contains(s.Namespaces, namespace)
}

// Annotations returns the scope, which the manager copies to pods for the operators to read.
func (s Scope) Annotations() map[string]string {
	return map[string]string{
		wellknown.AnnotationOperatorGroup:     s.Group.Name,
		wellknown.AnnotationOperatorNamespace: s.Group.Namespace,
		wellknown.AnnotationTargetNamespaces:  strings.Join(s.Namespaces, ","),
	}
}

func notDeleting(groups []*operatorsv1.OperatorGroup) []*operatorsv1.OperatorGroup {
	return slices.DeleteFunc(slices.Clone(groups), func(group *operatorsv1.OperatorGroup) bool { return !group.DeletionTimestamp.IsZero() })
}
