package merge_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
)

func TestConflicts(t *testing.T) {
	for name, test := range map[string]struct {
		pod         string
		podDefaults []string
		want        []string
	}{
		"env of the pod, in each container that has it": {
			`spec: {containers: [{name: x, env: [{name: A, value: pod}]}, {name: y, env: [{name: A, value: a}]}, {name: z, env: [{name: A, value: pod}]}]}`,
			[]string{`env: [{name: A, value: a}]`},
			[]string{
				"merging env for a has a conflict on A: it differs in value from that of the pod in container x",
				"merging env for a has a conflict on A: it differs in value from that of the pod in container z",
			},
		},
		"env of another PodDefault": {
			`spec: {containers: [{name: x}]}`,
			[]string{`env: [{name: A, value: a}]`, `env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]`},
			[]string{"merging env for b has a conflict on A: it differs in value, valueFrom from that of PodDefault a in container x"},
		},
		"volumes": {
			`spec: {volumes: [{name: v, secret: {secretName: s, defaultMode: 420}}]}`,
			[]string{`volumes: [{name: v, emptyDir: {}}]`},
			[]string{"merging volumes for a has a conflict on v: it differs in emptyDir, secret from that of the pod"},
		},
		"imagePullSecrets cannot conflict: a name is all they have": {
			`spec: {imagePullSecrets: [{name: p}]}`,
			[]string{`imagePullSecrets: [{name: p}]`},
			nil,
		},
		"sidecars": {
			`spec: {containers: [{name: x, image: "one:1"}]}`,
			[]string{`sidecars: [{name: x, image: "two:1"}]`},
			[]string{"merging sidecars for a has a conflict on x: it differs in image from that of the pod"},
		},
		"sidecars of two PodDefaults": {
			`{}`,
			[]string{`sidecars: [{name: s, image: one, args: [x]}]`, `sidecars: [{name: s, image: one}]`},
			[]string{"merging sidecars for b has a conflict on s: it differs in args from that of PodDefault a"},
		},
		"initContainers": {
			`spec: {initContainers: [{name: i, image: "one:1"}]}`,
			[]string{`initContainers: [{name: i, image: "one"}]`},
			[]string{"merging initContainers for a has a conflict on i: it differs in image, imagePullPolicy from that of the pod"},
		},
		"volumeMounts by name": {
			`spec: {containers: [{name: x, volumeMounts: [{name: v, mountPath: /v}]}]}`,
			[]string{`volumeMounts: [{name: v, mountPath: /w, readOnly: true}]`},
			[]string{"merging volumeMounts for a has a conflict on v: it differs in mountPath, readOnly from that of the pod in container x"},
		},
		"volumeMounts by path": {
			`spec: {containers: [{name: x, volumeMounts: [{name: v, mountPath: /data}]}]}`,
			[]string{`volumeMounts: [{name: w, mountPath: /data}]`},
			[]string{`merging volumeMounts for a has a conflict on mount path /data: volume "w" would be mounted over volume "v" of the pod in container x`},
		},
		"volumeMounts by the same path in other words, of another PodDefault": {
			`spec: {containers: [{name: x}]}`,
			[]string{`volumeMounts: [{name: v, mountPath: /data/}]`, `volumeMounts: [{name: w, mountPath: /data}]`},
			[]string{`merging volumeMounts for b has a conflict on mount path /data: volume "w" would be mounted over volume "v" of PodDefault a in container x`},
		},
		"tolerations": {
			`spec: {tolerations: [{key: k, operator: Exists, effect: NoExecute}]}`,
			[]string{`tolerations: [{key: k, operator: Exists, effect: NoSchedule}]`},
			[]string{"merging tolerations for a has a conflict on k: it differs in effect from that of the pod"},
		},
		"labels": {
			`metadata: {labels: {team: shop}}`,
			[]string{`labels: {team: bank}`},
			[]string{`merging labels for a has a conflict on team: "bank" does not match "shop" of the pod`},
		},
		"labels of another PodDefault": {
			`{}`,
			[]string{`labels: {team: ""}`, `labels: {team: bank}`},
			[]string{`merging labels for b has a conflict on team: "bank" does not match "" of PodDefault a`},
		},
		"annotations": {
			`metadata: {annotations: {note: pod}}`,
			[]string{`annotations: {note: a}`},
			[]string{`merging annotations for a has a conflict on note: "a" does not match "pod" of the pod`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod, before := parse[corev1.Pod](t, test.pod), parse[corev1.Pod](t, test.pod)
			var got []string
			if err := merge.Apply(pod, specs(t, test.podDefaults...)); err != nil {
				var conflict *merge.ConflictError
				if !errors.As(err, &conflict) {
					t.Fatalf("not a ConflictError: %v", err)
				}
				for _, c := range conflict.Conflicts {
					got = append(got, c.String())
				}
				if diff := cmp.Diff(before, pod); diff != "" {
					t.Errorf("the pod was changed in spite of conflicts (-before +after):\n%s", diff)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

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
