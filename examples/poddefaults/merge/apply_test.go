package merge_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
)

// TestApply goes through the table row by row.
func TestApply(t *testing.T) {
	type test struct {
		pod         string
		podDefaults []string
		want        string
	}
	for row, tests := range map[string]map[string]test{
		"env": {
			"absent": {
				`spec: {containers: [{name: x, env: [{name: A, value: pod}]}, {name: y}]}`,
				[]string{`env: [{name: B, value: a}]`, `env: [{name: C, value: b}]`},
				`spec: {containers: [{name: x, env: [{name: A, value: pod}, {name: B, value: a}, {name: C, value: b}]}, {name: y, env: [{name: B, value: a}, {name: C, value: b}]}]}`,
			},
			"identical": {
				`spec: {containers: [{name: x, env: [{name: A, value: one}]}]}`,
				[]string{`env: [{name: A, value: one}, {name: B, value: two}]`, `env: [{name: B, value: two}]`},
				`spec: {containers: [{name: x, env: [{name: A, value: one}, {name: B, value: two}]}]}`,
			},
			"identical to one of several of that name": {
				`spec: {containers: [{name: x, env: [{name: A, value: one}, {name: A, value: two}]}]}`,
				[]string{`env: [{name: A, value: one}]`},
				`spec: {containers: [{name: x, env: [{name: A, value: one}, {name: A, value: two}]}]}`,
			},
			"not in init containers": {
				`spec: {initContainers: [{name: i}], containers: [{name: x}]}`,
				[]string{`env: [{name: A, value: a}]`},
				`spec: {initContainers: [{name: i}], containers: [{name: x, env: [{name: A, value: a}]}]}`,
			},
			"not in added containers": {
				`spec: {containers: [{name: x}]}`,
				[]string{`{env: [{name: A, value: a}], initContainers: [{name: i}], sidecars: [{name: s}]}`},
				`spec: {initContainers: [{name: i}], containers: [{name: x, env: [{name: A, value: a}]}, {name: s}]}`,
			},
			"in istio-proxy too": {
				`spec: {containers: [{name: istio-proxy}]}`,
				[]string{`env: [{name: A, value: a}]`},
				`spec: {containers: [{name: istio-proxy, env: [{name: A, value: a}]}]}`,
			},
		},
		"volumes": {
			"absent": {
				`spec: {volumes: [{name: v, emptyDir: {}}]}`,
				[]string{`volumes: [{name: w, secret: {secretName: s}}]`, `volumes: [{name: x, configMap: {name: c}}]`},
				`spec: {volumes: [{name: v, emptyDir: {}}, {name: w, secret: {secretName: s}}, {name: x, configMap: {name: c}}]}`,
			},
			"identical": {
				`spec: {volumes: [{name: v, emptyDir: {}}]}`,
				[]string{`volumes: [{name: v, emptyDir: {}}]`},
				`spec: {volumes: [{name: v, emptyDir: {}}]}`,
			},
			"identical once defaults are written out": {
				`spec: {volumes: [{name: v, secret: {secretName: s, defaultMode: 420}}]}`,
				[]string{`volumes: [{name: v, secret: {secretName: s}}]`},
				`spec: {volumes: [{name: v, secret: {secretName: s, defaultMode: 420}}]}`,
			},
		},
		"imagePullSecrets": {
			"absent": {
				`spec: {imagePullSecrets: [{name: p}]}`,
				[]string{`imagePullSecrets: [{name: q}]`, `imagePullSecrets: [{name: r}]`},
				`spec: {imagePullSecrets: [{name: p}, {name: q}, {name: r}]}`,
			},
			"identical": {
				`spec: {imagePullSecrets: [{name: p}]}`,
				[]string{`imagePullSecrets: [{name: p}]`},
				`spec: {imagePullSecrets: [{name: p}]}`,
			},
		},
		"sidecars": {
			"absent": {
				`spec: {containers: [{name: x}]}`,
				[]string{`sidecars: [{name: s, image: one}]`, `sidecars: [{name: r, image: two}]`},
				`spec: {containers: [{name: x}, {name: s, image: one}, {name: r, image: two}]}`,
			},
			"identical, and left alone": {
				`spec: {containers: [{name: x}, {name: s, image: one, imagePullPolicy: Always, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File,
					volumeMounts: [{name: kube-api-access-1, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}]}`,
				[]string{`{sidecars: [{name: s, image: one}], env: [{name: A, value: a}]}`},
				`spec: {containers: [{name: x, env: [{name: A, value: a}]}, {name: s, image: one, imagePullPolicy: Always, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File,
					volumeMounts: [{name: kube-api-access-1, mountPath: /var/run/secrets/kubernetes.io/serviceaccount}]}]}`,
			},
		},
		"initContainers": {
			"absent": {
				`spec: {initContainers: [{name: i}]}`,
				[]string{`initContainers: [{name: j, image: one}]`, `initContainers: [{name: k, image: two}]`},
				`spec: {initContainers: [{name: i}, {name: j, image: one}, {name: k, image: two}]}`,
			},
			"identical": {
				`spec: {initContainers: [{name: i, image: "one:1"}]}`,
				[]string{`initContainers: [{name: i, image: "one:1"}]`},
				`spec: {initContainers: [{name: i, image: "one:1"}]}`,
			},
			"an init container may be called like a container": {
				`spec: {containers: [{name: i}]}`,
				[]string{`initContainers: [{name: i, image: one}]`},
				`spec: {initContainers: [{name: i, image: one}], containers: [{name: i}]}`,
			},
		},
		"volumeMounts": {
			"absent": {
				`spec: {initContainers: [{name: i}], containers: [{name: x, volumeMounts: [{name: v, mountPath: /v}]}, {name: y}]}`,
				[]string{`{volumeMounts: [{name: w, mountPath: /w}], sidecars: [{name: s}]}`},
				`spec: {initContainers: [{name: i}], containers: [{name: x, volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /w}]}, {name: y, volumeMounts: [{name: w, mountPath: /w}]}, {name: s}]}`,
			},
			"identical": {
				`spec: {containers: [{name: x, volumeMounts: [{name: v, mountPath: /v, readOnly: true}]}]}`,
				[]string{`volumeMounts: [{name: v, mountPath: /v, readOnly: true}]`},
				`spec: {containers: [{name: x, volumeMounts: [{name: v, mountPath: /v, readOnly: true}]}]}`,
			},
			"identical to one of several of that volume": {
				`spec: {containers: [{name: x, volumeMounts: [{name: v, mountPath: /one, subPath: one}, {name: v, mountPath: /two, subPath: two}]}]}`,
				[]string{`volumeMounts: [{name: v, mountPath: /one, subPath: one}]`},
				`spec: {containers: [{name: x, volumeMounts: [{name: v, mountPath: /one, subPath: one}, {name: v, mountPath: /two, subPath: two}]}]}`,
			},
		},
		"tolerations": {
			"absent": {
				`spec: {tolerations: [{key: k, operator: Exists}]}`,
				[]string{`tolerations: [{key: l, value: one, effect: NoSchedule}]`, `tolerations: [{operator: Exists}]`},
				`spec: {tolerations: [{key: k, operator: Exists}, {key: l, value: one, effect: NoSchedule}, {operator: Exists}]}`,
			},
			"identical": {
				`spec: {tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]}`,
				[]string{`tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]`},
				`spec: {tolerations: [{key: k, operator: Exists, effect: NoExecute, tolerationSeconds: 300}]}`,
			},
		},
		"labels": {
			"absent": {
				`{}`,
				[]string{`labels: {one: a}`, `labels: {two: b}`},
				`metadata: {labels: {one: a, two: b}}`,
			},
			"equal": {
				`metadata: {labels: {one: a}}`,
				[]string{`labels: {one: a}`},
				`metadata: {labels: {one: a}}`,
			},
		},
		"annotations": {
			"absent": {
				`metadata: {annotations: {zero: pod}}`,
				[]string{`annotations: {one: a}`, `annotations: {two: b}`},
				`metadata: {annotations: {zero: pod, one: a, two: b}}`,
			},
			"equal": {
				`metadata: {annotations: {one: a}}`,
				[]string{`annotations: {one: a}`},
				`metadata: {annotations: {one: a}}`,
			},
		},
		"envFrom": {
			"appended as it is, and twice if it is there twice": {
				`spec: {initContainers: [{name: i}], containers: [{name: x, envFrom: [{secretRef: {name: s}}]}, {name: y}]}`,
				[]string{`{envFrom: [{secretRef: {name: s}}], sidecars: [{name: s}]}`, `envFrom: [{prefix: B_, configMapRef: {name: c}}]`},
				`spec: {initContainers: [{name: i}], containers: [{name: x, envFrom: [{secretRef: {name: s}}, {secretRef: {name: s}}, {prefix: B_, configMapRef: {name: c}}]},
					{name: y, envFrom: [{secretRef: {name: s}}, {prefix: B_, configMapRef: {name: c}}]}, {name: s}]}`,
			},
		},
		"serviceAccountName": {
			"the last one that sets it wins": {
				`spec: {serviceAccountName: default, serviceAccount: default}`,
				[]string{`serviceAccountName: one`, `serviceAccountName: two`, `labels: {three: c}`},
				`{metadata: {labels: {three: c}}, spec: {serviceAccountName: two, serviceAccount: two}}`,
			},
			"the token of the one before is unmounted": {
				`spec: {serviceAccountName: default, serviceAccount: default,
					volumes: [{name: kube-api-access-1, projected: {}}, {name: v}],
					initContainers: [{name: i, volumeMounts: [{name: kube-api-access-1, mountPath: /var/run}]}],
					containers: [{name: x, volumeMounts: [{name: v, mountPath: /v}, {name: kube-api-access-1, mountPath: /var/run}]}]}`,
				[]string{`serviceAccountName: one`},
				`spec: {serviceAccountName: one, serviceAccount: one,
					volumes: [{name: v}],
					initContainers: [{name: i}],
					containers: [{name: x, volumeMounts: [{name: v, mountPath: /v}]}]}`,
			},
			"the token stays where nothing changes": {
				`spec: {serviceAccountName: one, serviceAccount: one, volumes: [{name: kube-api-access-1, projected: {}}], containers: [{name: x, volumeMounts: [{name: kube-api-access-1, mountPath: /var/run}]}]}`,
				[]string{`serviceAccountName: one`},
				`spec: {serviceAccountName: one, serviceAccount: one, volumes: [{name: kube-api-access-1, projected: {}}], containers: [{name: x, volumeMounts: [{name: kube-api-access-1, mountPath: /var/run}]}]}`,
			},
		},
		"automountServiceAccountToken": {
			"the last one that sets it wins": {
				`spec: {automountServiceAccountToken: true}`,
				[]string{`automountServiceAccountToken: true`, `automountServiceAccountToken: false`, `{}`},
				`spec: {automountServiceAccountToken: false}`,
			},
			"the token is unmounted": {
				`spec: {volumes: [{name: kube-api-access-1, projected: {}}], containers: [{name: x, volumeMounts: [{name: kube-api-access-1, mountPath: /var/run}]}]}`,
				[]string{`automountServiceAccountToken: false`},
				`spec: {automountServiceAccountToken: false, containers: [{name: x}]}`,
			},
		},
		"command": {
			"the first one wins, where the container has none": {
				`spec: {initContainers: [{name: i}], containers: [{name: x}, {name: y, command: [pod]}]}`,
				[]string{`args: [one]`, `{command: [two], sidecars: [{name: s}]}`, `command: [three]`},
				`spec: {initContainers: [{name: i}], containers: [{name: x, command: [two], args: [one]}, {name: y, command: [pod], args: [one]}, {name: s}]}`,
			},
			"istio-proxy is left alone": {
				`spec: {containers: [{name: istio-proxy}]}`,
				[]string{`command: [one]`},
				`spec: {containers: [{name: istio-proxy}]}`,
			},
		},
		"args": {
			"the first one wins, where the container has none": {
				`spec: {containers: [{name: x}, {name: y, args: [pod]}]}`,
				[]string{`command: [one]`, `args: [two]`, `args: [three]`},
				`spec: {containers: [{name: x, command: [one], args: [two]}, {name: y, command: [one], args: [pod]}]}`,
			},
			"istio-proxy is left alone": {
				`spec: {containers: [{name: istio-proxy}]}`,
				[]string{`args: [one]`},
				`spec: {containers: [{name: istio-proxy}]}`,
			},
		},
	} {
		for name, test := range tests {
			t.Run(row+"/"+name, func(t *testing.T) {
				pod := parse[corev1.Pod](t, test.pod)
				if err := merge.Apply(pod, specs(t, test.podDefaults...)); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(show(t, parse[corev1.Pod](t, test.want)), show(t, pod)); diff != "" {
					t.Errorf("pod (-want +got):\n%s", diff)
				}
			})
		}
	}
}

func TestApplyLeavesWhatItApplied(t *testing.T) {
	pod := parse[corev1.Pod](t, `metadata: {annotations: {poddefault.admission.kubeflow.org/poddefault-a: "0", other: stays}}`)
	if err := merge.Apply(pod, specs(t, `{}`, `{desc: does nothing}`)); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"poddefault.admission.kubeflow.org/poddefault-a": "1",
		"poddefault.admission.kubeflow.org/poddefault-b": "2",
		"other": "stays",
	}
	if diff := cmp.Diff(want, pod.Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

func TestApplyOfNothingChangesNothing(t *testing.T) {
	pod, before := parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`), parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`)
	if err := merge.Apply(pod, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, pod); diff != "" {
		t.Errorf("pod (-before +after):\n%s", diff)
	}
}

// TestApplyTwice has what was applied be identical to what is to be applied: a pod that
// is made from one that has its PodDefaults must not be in conflict with them.
func TestApplyTwice(t *testing.T) {
	podDefaults := specs(t, `{
		labels: {one: a}, annotations: {one: a}, serviceAccountName: one, automountServiceAccountToken: false,
		volumes: [{name: v, secret: {secretName: s}}], tolerations: [{key: k, operator: Exists}], imagePullSecrets: [{name: p}],
		env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], volumeMounts: [{name: v, mountPath: /v}],
		command: [one], args: [two], sidecars: [{name: s, image: one}], initContainers: [{name: i, image: one}]}`)
	pod := parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`)
	if err := merge.Apply(pod, podDefaults); err != nil {
		t.Fatal(err)
	}
	once := pod.DeepCopy()
	if err := merge.Apply(pod, podDefaults); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(once, pod); diff != "" {
		t.Errorf("pod (-once +twice):\n%s", diff)
	}
}

func TestApplySharesNothing(t *testing.T) {
	podDefaults := specs(t, `{env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}], volumes: [{name: v, secret: {secretName: s}}], command: [one], labels: {one: a}}`)
	before := podDefaults[0].DeepCopy()
	pod := parse[corev1.Pod](t, `spec: {containers: [{name: x}]}`)
	if err := merge.Apply(pod, podDefaults); err != nil {
		t.Fatal(err)
	}
	pod.Spec.Containers[0].Env[0].ValueFrom.FieldRef.FieldPath = "changed"
	pod.Spec.Containers[0].Command[0] = "changed"
	pod.Spec.Volumes[0].Secret.SecretName = "changed"
	pod.Labels["one"] = "changed"
	if diff := cmp.Diff(before, podDefaults[0]); diff != "" {
		t.Errorf("a change of the pod changed the PodDefault (-before +after):\n%s", diff)
	}
}
