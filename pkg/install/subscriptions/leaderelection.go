package subscriptions

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// leaderElectionFlags are the flags of operators that are made from the template of kubebuilder or Operator SDK.
var leaderElectionFlags = []string{"leader-elect", "enable-leader-election"}

// mayRunReplicas reports whether the operator elects a leader. A declaration wins over what the Deployment shows.
func (r *availabilityReader) mayRunReplicas(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
	for _, annotations := range []map[string]string{r.annotations, r.csv.Annotations} {
		switch annotations[wellknown.AnnotationLeaderElection] {
		case "true":
			return true
		case "false":
			return false
		}
	}
	return ptr.Deref(spec.Spec.Replicas, 1) > 1 || slices.ContainsFunc(spec.Spec.Template.Spec.Containers, electsLeader)
}

// electsLeader reads the last of the flags, as a program does.
func electsLeader(container corev1.Container) (elects bool) {
	for _, arg := range slices.Concat(container.Command, container.Args) {
		flag, value, hasValue := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") || !slices.Contains(leaderElectionFlags, flag) {
			continue
		}
		on, err := strconv.ParseBool(value)
		elects = !hasValue || err == nil && on
	}
	return elects
}
