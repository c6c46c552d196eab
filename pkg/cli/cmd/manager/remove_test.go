package manager

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/uninstall"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The removal of a manager is for its own namespaces: other managers use the same finalizers.
func TestNamespacesOfARemovedManager(t *testing.T) {
	deploymentOf := func(args ...string) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Args: append([]string{"run"}, args...)}}
		return d
	}
	for name, test := range map[string]struct {
		options removeOptions
		d       *appsv1.Deployment
		gone    bool
		want    []string
		err     string
	}{
		"as the flag says":              {removeOptions{limited: true, namespaces: []string{"shop"}}, deploymentOf("--namespaces=mall"), false, []string{"shop"}, ""},
		"all, as the flag says":         {removeOptions{limited: true}, nil, true, nil, ""},
		"as the Deployment's arguments": {removeOptions{}, deploymentOf("--namespaces=mall,stock"), false, []string{"mall", "stock"}, ""},
		"all by default":                {removeOptions{}, deploymentOf(), false, nil, ""},
		"no Deployment":                 {removeOptions{namespace: "olm", deployment: "manager"}, nil, true, nil, "deployment olm/manager does not exist"},
	} {
		got, err := test.options.lookedAfter(test.d, test.gone)
		installtest.Same(t, name, fmt.Sprint(test.want), fmt.Sprint(got))
		installtest.Error(t, test.err, err)
	}
}

// A ReplicaSet that is scaled to zero keeps the pods that have ended.
func TestRunningPods(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.PodStatus{Phase: phase}}
	}
	for name, test := range map[string]struct {
		pods []corev1.Pod
		want []string
	}{
		"none":           {nil, nil},
		"evicted":        {[]corev1.Pod{pod("a", corev1.PodFailed)}, nil},
		"ended":          {[]corev1.Pod{pod("a", corev1.PodSucceeded)}, nil},
		"running":        {[]corev1.Pod{pod("a", corev1.PodFailed), pod("b", corev1.PodRunning)}, []string{"b"}},
		"not started":    {[]corev1.Pod{pod("a", corev1.PodPending), pod("b", "")}, []string{"a", "b"}},
		"on a lost node": {[]corev1.Pod{pod("a", corev1.PodUnknown)}, []string{"a"}},
	} {
		installtest.Same(t, name, test.want, running(test.pods))
	}
}

// The manager stops although a pod of it was evicted, and the command prints what it waits for.
func TestStopping(t *testing.T) {
	labels := map[string]string{"app": "manager"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "manager"}, Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}}
	evicted := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "manager-0", Labels: labels}, Status: corev1.PodStatus{Phase: corev1.PodFailed}}
	ending := evicted.DeepCopy()
	ending.Name, ending.Status.Phase = "manager-1", corev1.PodRunning
	kube := fake.NewClientset(d, evicted, ending)
	kube.PrependReactor("update", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &autoscalingv1.Scale{}, nil })
	lists := 0
	kube.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
		if lists++; lists == 3 {
			return false, nil, kube.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "system", ending.Name)
		}
		return false, nil, nil
	})
	var text bytes.Buffer
	s := stopping{kube, d, output.New(&text)}
	refused, err := s.check(t.Context())
	installtest.Must(t, err)
	installtest.None(t, "refused", refused)
	installtest.Must(t, s.stop(t.Context()))
	installtest.Same(t, "output", "waiting up to 2m0s until the pods of deployment system/manager end: manager-1\n", text.String())
	kube.PrependReactor("update", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(appsv1.Resource("deployments"), "manager", errors.New("not you"))
	})
	if refused, err = s.check(t.Context()); err != nil || len(refused) != 1 {
		t.Errorf("refused: %q, %v", refused, err)
	}
}

// A request that would be refused ends the command before its question; a conversion in use does not.
func TestAnnounce(t *testing.T) {
	const list = "The manager of all namespaces is removed. Operators keep running, without webhooks:\n  delete a\n"
	for name, test := range map[string]struct {
		plan      uninstall.Plan
		err       error
		says, end string
	}{
		"all is allowed": {uninstall.Plan{Writes: []string{"delete a"}}, nil, list, ""},
		"in use":         {uninstall.Plan{Writes: []string{"delete a"}}, uninstall.HeldError{Held: []string{"b is in use"}}, list + "Kept: b is in use\n", ""},
		"refused":        {uninstall.Plan{Writes: []string{"delete a"}, Refused: uninstall.RefusedError{"not you"}}, nil, list + "Refused: not you\n", "nothing was changed, because the API server refuses 1 request: "},
		"another error":  {uninstall.Plan{Writes: []string{"delete a"}}, errors.New("no answer"), "", "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			installtest.Error(t, test.end, removeOptions{}.announce(output.New(&text), test.plan, test.err))
			installtest.Same(t, "output", test.says, text.String())
		})
	}
}
