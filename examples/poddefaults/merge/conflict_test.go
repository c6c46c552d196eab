package merge_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
)

func TestConflictErrorSaysEverythingAtOnce(t *testing.T) {
	const wayOut = `; make the two of each conflict the same, give one another name, or keep all PodDefaults away with the pod's annotation poddefault.admission.kubeflow.org/exclude: "true"`
	for name, want := range map[string]string{
		`{name: web-1, generateName: web-}`: `conflict occurred while applying poddefaults: a,b on pod: web-1 err: [merging labels for a has a conflict on team: "one" does not match "pod" of the pod; merging labels for b has a conflict on team: "two" does not match "pod" of the pod]` + wayOut,
		`{generateName: web-}`:              `conflict occurred while applying poddefaults: a,b on pod: web- err: [merging labels for a has a conflict on team: "one" does not match "pod" of the pod; merging labels for b has a conflict on team: "two" does not match "pod" of the pod]` + wayOut,
	} {
		pod := parse[corev1.Pod](t, `metadata: `+name)
		pod.Labels = map[string]string{"team": "pod"}
		err := merge.Apply(pod, specs(t, `labels: {team: one}`, `labels: {team: two}`))
		if err == nil || err.Error() != want {
			t.Errorf("got\n%v\nwant\n%s", err, want)
		}
	}
}
