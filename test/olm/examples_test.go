package olm

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// between is the time between two calls of a load.
const between = 10 * time.Millisecond

// operator is an example with an admission webhook.
type operator struct {
	bundle  string // its folder
	group   operatorsv1.OperatorGroupSpec
	target  string     // a Namespace that the group selects: olm-operator needs it before the group
	prepare func(*env) // what it needs before it is installed
	rule    func(*env) // what the webhook decides by, once its definitions exist
	call    func(context.Context) calls.Call
	answer  calls.Outcome // of a call, while the webhook is live
}

const enabled = "poddefaults.example.com/enabled"

var examples = map[string]operator{
	"poddefaults": {
		bundle: "poddefaults/bundle",
		group:  operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{enabled: "true"}}},
		target: notebooks,
		rule:   conflictingDefault,
		call:   callPodDefaults, answer: calls.Denied,
	},
	"projectpolicy": {bundle: "projectpolicy/bundle", rule: policyForShops, call: callProjectPolicy, answer: calls.Denied},
	"volumelabels":  {bundle: "volumelabels/bundle-one-process", prepare: catalogueOfVolumes, call: callVolumeLabels, answer: calls.Converted},
}

// newExample is the Namespace of an example, with what it needs.
func newExample(t *testing.T, name string) (*env, operator) {
	t.Helper()
	o := examples[name]
	return o.newEnv(t, name), o
}

func (o operator) newEnv(t *testing.T, name string) *env {
	t.Helper()
	if o.target != "" {
		kube.Create(t, kubeClient.CoreV1().Namespaces(), &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: o.target, Labels: o.group.Selector.MatchLabels},
		})
		t.Cleanup(func() {
			(&env{T: t, ctx: context.WithoutCancel(t.Context())}).removeNamespace(o.target)
		})
	}
	e := newEnv(t, name, o.group)
	if o.prepare != nil {
		o.prepare(e)
	}
	return e
}

// load creates what the webhook decides by, and calls it.
func (o operator) load(e *env) *calls.Load {
	e.Helper()
	o.createsRules(e)
	return o.calls(e)
}

func (o operator) createsRules(e *env) {
	e.Helper()
	if o.rule != nil {
		o.rule(e)
	}
}

// calls waits until the webhook answers, and calls it from then on.
func (o operator) calls(e *env) *calls.Load {
	e.Helper()
	e.eventually("the webhook answers", func() (bool, any) {
		c := o.call(e.ctx)
		return c.Outcome == o.answer, c.Err
	})
	return calls.Start(e, between, o.call)
}

const notebooks = "notebooks-of-e2e"

// conflictingDefault creates a PodDefault that a pod with its own value for a variable contradicts.
func conflictingDefault(e *env) {
	e.Helper()
	defaults := schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1alpha1", Resource: "poddefaults"}
	_, err := dynamicClient.Resource(defaults).Namespace(notebooks).Create(e.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kubeflow.org/v1alpha1", "kind": "PodDefault", "metadata": map[string]any{"name": "region"},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"region": "true"}},
			"env":      []any{map[string]any{"name": "REGION", "value": "north"}},
		},
	}}, metav1.CreateOptions{})
	e.must(err)
}

func callPodDefaults(ctx context.Context) calls.Call {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "notebook", Labels: map[string]string{"region": "true"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "notebook", Image: "registry.example.com/notebook:1", Env: []corev1.EnvVar{{Name: "REGION", Value: "south"}},
		}}},
	}
	return callOf(func() error {
		_, err := kubeClient.CoreV1().Pods(notebooks).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}, "conflict occurred while applying poddefaults")
}

// policyForShops denies Namespaces whose name begins with shop.
func policyForShops(e *env) {
	e.Helper()
	policies := schema.GroupVersionResource{Group: "projectpolicy.example.com", Version: "v1alpha1", Resource: "projectpolicies"}
	_, err := dynamicClient.Resource(policies).Create(e.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": policies.GroupVersion().String(), "kind": "ProjectPolicy", "metadata": map[string]any{"name": "no-shops"},
		"spec": map[string]any{"namePattern": "[^s].*", "exempt": []any{"kube-*", "olm*"}},
	}}, metav1.CreateOptions{})
	e.must(err)
}

func callProjectPolicy(ctx context.Context) calls.Call {
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	return callOf(func() error {
		_, err := kubeClient.CoreV1().Namespaces().Create(ctx, shop, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}, "does not comply with ProjectPolicy")
}

// callOf makes a request that a webhook denies with a message.
func callOf(request func() error, message string) calls.Call {
	c := calls.Call{Sent: time.Now(), Outcome: calls.Denied}
	c.Err = request()
	c.Answered = time.Now()
	switch {
	case c.Err == nil:
		c.Outcome = calls.Uncovered
	case !strings.Contains(c.Err.Error(), message):
		c.Outcome = calls.Failed
	}
	return c
}

func catalogueOfVolumes(e *env) {
	e.Helper()
	kube.Create(e, kubeClient.CoreV1().ConfigMaps(e.namespace), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "volumelabels-catalogue"},
		Data: map[string]string{"volumes.yaml": `volumes:
- driver: disk.csi.example.com
  handle: vol-0001
  labels: {topology.kubernetes.io/region: north, topology.kubernetes.io/zone: north-1}
`},
	})
}

func callVolumeLabels(ctx context.Context) calls.Call {
	c := calls.Call{Sent: time.Now(), Outcome: calls.Converted}
	volume, err := kubeClient.CoreV1().PersistentVolumes().Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "existing-data"},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:    corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				CSI: &corev1.CSIPersistentVolumeSource{Driver: "disk.csi.example.com", VolumeHandle: "vol-0001"},
			},
		},
	}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	c.Answered, c.Err = time.Now(), err
	switch {
	case err != nil:
		c.Outcome = calls.Failed
	case volume.Labels[corev1.LabelTopologyZone] != "north-1":
		c.Outcome = calls.Uncovered
	}
	return c
}
