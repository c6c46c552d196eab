package merge_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/mergetest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestTable(t *testing.T) {
	cases, err := mergetest.Table()
	installtest.Must(t, err)
	for _, c := range cases {
		t.Run(c.Row+"/"+c.Name, func(t *testing.T) {
			pod := c.Pod.DeepCopy()
			want := &c.Want
			conflicts := ""
			if len(c.Conflicts) > 0 {
				want, conflicts = &c.Pod, " err: ["+strings.Join(c.Conflicts, "; ")+"]; "
			}
			installtest.Error(t, conflicts, merge.Apply(pod, c.PodDefaults("shop")))
			installtest.Same(t, "pod", show(t, want), show(t, pod))
		})
	}
}

// TestToken: the token volume is removed if another ServiceAccount, or no token, is desired.
func TestToken(t *testing.T) {
	const (
		before = `serviceAccountName: default, serviceAccount: default,
			volumes: [{name: kube-api-access-1, projected: {}}, {name: v}],
			initContainers: [{name: i, volumeMounts: [{name: kube-api-access-1, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}],
			containers: [{name: x, volumeMounts: [{name: v, mountPath: /v}, {name: kube-api-access-1, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}]`
		without = `volumes: [{name: v}], initContainers: [{name: i}], containers: [{name: x, volumeMounts: [{name: v, mountPath: /v}]}]`
	)
	for name, test := range map[string]struct{ podDefault, want string }{
		"another account": {`serviceAccountName: one`, `serviceAccountName: one, serviceAccount: one, ` + without},
		"the same one":    {`serviceAccountName: default`, before},
		"no token":        {`automountServiceAccountToken: false`, `serviceAccountName: default, serviceAccount: default, automountServiceAccountToken: false, ` + without},
	} {
		t.Run(name, func(t *testing.T) {
			pod := parse[corev1.Pod](t, `spec: {`+before+`}`)
			installtest.Must(t, merge.Apply(pod, specs(t, test.podDefault)))
			installtest.Same(t, "pod", show(t, parse[corev1.Pod](t, `spec: {`+test.want+`}`)), show(t, pod))
		})
	}
}

// A container may equal a sidecar except for the mounts of the API server.
func TestSidecarWithToken(t *testing.T) {
	pod := parse[corev1.Pod](t, `spec: {containers: [{name: s, volumeMounts: [{name: kube-api-access-1, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}]}`)
	before := pod.DeepCopy()
	installtest.Must(t, merge.Apply(pod, specs(t, `sidecars: [{name: s}]`)))
	installtest.Same(t, "pod", show(t, before), show(t, pod))
}

func TestApplyLeavesWhatItApplied(t *testing.T) {
	pod := parse[corev1.Pod](t, `metadata: {annotations: {poddefault.admission.kubeflow.org/poddefault-a: "0", other: stays}}`)
	installtest.Must(t, merge.Apply(pod, specs(t, `{}`, `{desc: does nothing}`)))
	want := map[string]string{
		"poddefault.admission.kubeflow.org/poddefault-a": "1",
		"poddefault.admission.kubeflow.org/poddefault-b": "2",
		"other": "stays",
	}
	installtest.Same(t, "annotations", want, pod.Annotations)
}

func TestApplyOfNothingChangesNothing(t *testing.T) {
	pod, before := parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`), parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`)
	installtest.Must(t, merge.Apply(pod, nil))
	installtest.Same(t, "pod", before, pod)
}

// TestApplyTwice: a pod that was created from a pod with PodDefaults has no conflict with them.
func TestApplyTwice(t *testing.T) {
	podDefaults := specs(t, `{
		labels: {one: a}, annotations: {one: a}, serviceAccountName: one, automountServiceAccountToken: false,
		volumes: [{name: v, secret: {secretName: s}}], tolerations: [{key: k, operator: Exists}], imagePullSecrets: [{name: p}],
		env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], volumeMounts: [{name: v, mountPath: /v}],
		command: [one], args: [two], sidecars: [{name: s, image: one}], initContainers: [{name: i, image: one}]}`)
	pod := parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`)
	installtest.Must(t, merge.Apply(pod, podDefaults))
	once := pod.DeepCopy()
	installtest.Must(t, merge.Apply(pod, podDefaults))
	installtest.Same(t, "pod", once, pod)
}

func TestApplySharesNothing(t *testing.T) {
	const spec = `{env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], volumes: [{name: v, secret: {secretName: s}}], command: [one], labels: {one: a},
		sidecars: [{name: s, volumeMounts: [{name: kube-api-access-1, mountPath: /t}, {name: v, mountPath: /v}]}], serviceAccountName: one}`
	podDefaults := specs(t, spec)
	pod := parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`)
	installtest.Must(t, merge.Apply(pod, podDefaults))
	pod.Spec.Containers[0].Env[0].ValueFrom.FieldRef.FieldPath = "changed"
	pod.Spec.Containers[0].Command[0] = "changed"
	pod.Spec.Volumes[0].Secret.SecretName = "changed"
	pod.Labels["one"] = "changed"
	installtest.Same(t, "a change of the pod changed the PodDefault", specs(t, spec), podDefaults)
}

func TestConflictErrorSaysEverythingAtOnce(t *testing.T) {
	const wayOut = `; make the two of each conflict the same, give one another name, or keep all PodDefaults away with the pod's annotation poddefault.admission.kubeflow.org/exclude: "true"`
	for metadata, name := range map[string]string{`{name: web-1, generateName: web-}`: "web-1", `{generateName: web-}`: "web-"} {
		want := `conflict occurred while applying poddefaults: a,b on pod: ` + name + ` err: [merging labels for a has a conflict on team: "one" does not match "pod" of the pod; merging labels for b has a conflict on team: "two" does not match "pod" of the pod]` + wayOut
		pod := parse[corev1.Pod](t, `metadata: `+metadata)
		pod.Labels = map[string]string{"team": "pod"}
		err := merge.Apply(pod, specs(t, `labels: {team: one}`, `labels: {team: two}`))
		installtest.Same(t, "the error", want, fmt.Sprint(err))
	}
}
