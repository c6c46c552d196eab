package subscriptions

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// leaderElectionFlags are the flags of operators that are made from the template of kubebuilder or Operator SDK.
var leaderElectionFlags = []string{"leader-elect", "enable-leader-election"}

// leaderElectionPrefix begins the declaration, and misspelt ones.
const leaderElectionPrefix = wellknown.AnnotationPrefix + "leader-elect"

// mayRunReplicas reports whether the operator elects a leader. A declaration wins over what the Deployment shows. One that is not
// understood may be meant to exclude replicas.
func (r *availabilityReader) mayRunReplicas(spec operatorsv1alpha1.StrategyDeploymentSpec) bool {
	for _, annotations := range []map[string]string{r.annotations, r.csv.Annotations} {
		if declared := declarations(annotations); len(declared) > 0 {
			return len(declared) == 1 && annotations[wellknown.AnnotationLeaderElection] == "true"
		}
	}
	return ptr.Deref(spec.Spec.Replicas, 1) > 1 || slices.ContainsFunc(spec.Spec.Template.Spec.Containers, electsLeader)
}

// declarations returns the keys of annotations about leader election, sorted.
func declarations(annotations map[string]string) []string {
	return lists.Filter(slices.Sorted(maps.Keys(annotations)), func(key string) bool { return strings.HasPrefix(key, leaderElectionPrefix) })
}

// refuseDeclarations refuses what is not understood.
func (r *availabilityReader) refuseDeclarations() {
	for _, key := range declarations(r.annotations) {
		value := r.annotations[key]
		switch {
		case key != wellknown.AnnotationLeaderElection:
			r.refuse("%s is not known: correct it to %s", key, wellknown.AnnotationLeaderElection)
		case value != "true" && value != "false":
			r.refuse("%s is %q, which is neither \"true\" nor \"false\": correct it", key, value)
		}
	}
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
