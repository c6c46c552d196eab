package merge_test

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/asserttest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/mergetest"
)

func TestTable(t *testing.T) {
	cases, err := mergetest.Table()
	asserttest.Must(t, err)
	for _, c := range cases {
		t.Run(c.Row+"/"+c.Name, func(t *testing.T) {
			pod := c.Pod.DeepCopy()
			want := &c.Want
			conflicts := conflictsOf(t, merge.Apply(pod, c.PodDefaults("shop")))
			if len(c.Conflicts) > 0 {
				want = &c.Pod
			}
			asserttest.Same(t, "conflicts", c.Conflicts, conflicts)
			asserttest.Same(t, "pod", show(t, want), show(t, pod))
		})
	}
}

func conflictsOf(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	var conflict *merge.ConflictError
	if !errors.As(err, &conflict) {
		t.Fatalf("not a ConflictError: %v", err)
	}
	var conflicts []string
	for _, c := range conflict.Conflicts {
		conflicts = append(conflicts, c.String())
	}
	return conflicts
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
			asserttest.Must(t, merge.Apply(pod, specs(t, test.podDefault)))
			asserttest.Same(t, "pod", show(t, parse[corev1.Pod](t, `spec: {`+test.want+`}`)), show(t, pod))
		})
	}
}

// TestSidecarWithToken has a container that equals a sidecar except for the mounts of the API
// server.
func TestSidecarWithToken(t *testing.T) {
	pod := parse[corev1.Pod](t, `spec: {containers: [{name: s, volumeMounts: [{name: kube-api-access-1, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}]}`)
	before := pod.DeepCopy()
	asserttest.Must(t, merge.Apply(pod, specs(t, `sidecars: [{name: s}]`)))
	asserttest.Same(t, "pod", show(t, before), show(t, pod))
}

func TestApplyLeavesWhatItApplied(t *testing.T) {
	pod := parse[corev1.Pod](t, `metadata: {annotations: {poddefault.admission.kubeflow.org/poddefault-a: "0", other: stays}}`)
	asserttest.Must(t, merge.Apply(pod, specs(t, `{}`, `{desc: does nothing}`)))
	want := map[string]string{
		"poddefault.admission.kubeflow.org/poddefault-a": "1",
		"poddefault.admission.kubeflow.org/poddefault-b": "2",
		"other": "stays",
	}
	asserttest.Same(t, "annotations", want, pod.Annotations)
}

func TestApplyOfNothingChangesNothing(t *testing.T) {
	pod, before := parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`), parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`)
	asserttest.Must(t, merge.Apply(pod, nil))
	asserttest.Same(t, "pod", before, pod)
}

// TestApplyTwice: a pod that was created from a pod with PodDefaults has no conflict with them.
func TestApplyTwice(t *testing.T) {
	podDefaults := specs(t, `{
		labels: {one: a}, annotations: {one: a}, serviceAccountName: one, automountServiceAccountToken: false,
		volumes: [{name: v, secret: {secretName: s}}], tolerations: [{key: k, operator: Exists}], imagePullSecrets: [{name: p}],
		env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], volumeMounts: [{name: v, mountPath: /v}],
		command: [one], args: [two], sidecars: [{name: s, image: one}], initContainers: [{name: i, image: one}]}`)
	pod := parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`)
	asserttest.Must(t, merge.Apply(pod, podDefaults))
	once := pod.DeepCopy()
	asserttest.Must(t, merge.Apply(pod, podDefaults))
	asserttest.Same(t, "pod", once, pod)
}

func TestApplySharesNothing(t *testing.T) {
	const spec = `{env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], volumes: [{name: v, secret: {secretName: s}}], command: [one], labels: {one: a},
		sidecars: [{name: s, volumeMounts: [{name: kube-api-access-1, mountPath: /t}, {name: v, mountPath: /v}]}], serviceAccountName: one}`
	podDefaults := specs(t, spec)
	pod := parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`)
	asserttest.Must(t, merge.Apply(pod, podDefaults))
	pod.Spec.Containers[0].Env[0].ValueFrom.FieldRef.FieldPath = "changed"
	pod.Spec.Containers[0].Command[0] = "changed"
	pod.Spec.Volumes[0].Secret.SecretName = "changed"
	pod.Labels["one"] = "changed"
	asserttest.Same(t, "a change of the pod changed the PodDefault", specs(t, spec), podDefaults)
}
