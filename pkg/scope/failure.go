package scope

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Failure is why there is no scope. The message begins with OLM v0's text, which scripts look for.
type Failure struct {
	Reason  operatorsv1alpha1.ConditionReason
	Message string
}

func noGroup(namespace string, deleting []*operatorsv1.OperatorGroup) *Failure {
	cause := fmt.Sprintf("create one in namespace %q", namespace)
	if len(deleting) > 0 {
		cause = "being deleted: " + groupNames(deleting) + "; " + cause
	}
	return &Failure{
		Reason:  operatorsv1alpha1.CSVReasonNoOperatorGroup,
		Message: "csv in namespace with no operatorgroups: " + cause,
	}
}

func noTargets(cause string) *Failure {
	return &Failure{
		Reason:  operatorsv1alpha1.CSVReasonNoTargetNamespaces,
		Message: "no targetNamespaces are matched operatorgroups namespace selection: " + cause,
	}
}

func unsupported(err error, modes []operatorsv1alpha1.InstallMode, group *operatorsv1.OperatorGroup) *Failure {
	return &Failure{
		Reason: operatorsv1alpha1.CSVReasonUnsupportedOperatorGroup,
		Message: fmt.Sprintf("%s: the ClusterServiceVersion supports %s; change which namespaces OperatorGroup %q targets",
			err, supportedTypes(modes), group.Name),
	}
}

func supportedTypes(modes []operatorsv1alpha1.InstallMode) string {
	supported := lists.FilterMap(modes, func(mode operatorsv1alpha1.InstallMode) (string, bool) { return string(mode.Type), mode.Supported })
	return cmp.Or(strings.Join(supported, ", "), "no install mode")
}

// groupNames lists groups in an order that does not change from one reconciliation to the next.
func groupNames(groups []*operatorsv1.OperatorGroup) string {
	names := lists.Map(groups, func(group *operatorsv1.OperatorGroup) string { return group.Name })
	slices.Sort(names)
	return strings.Join(names, ", ")
}
