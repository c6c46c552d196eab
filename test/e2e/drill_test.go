package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/drill"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Drill's prediction equals what a real restart does after the loss of all pods, and its changes let the rest return. The
// tests run one after the other, alone: they lose the pods of all others.
func TestDrillEqualsARestart(t *testing.T) {
	for name, sees := range map[string][][2]int{ // webhook of the first operator, pods of the second one
		"a webhook that sees its own pods":         {{0, 0}},
		"two webhooks that see each other's pods":  {{0, 1}, {1, 0}},
		"a webhook that sees the pods of the next": {{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if programOf(&env{T: t, ctx: t.Context()}, "kubelet") == 0 {
				t.Skip("the kubelet of test/cluster does not run on this machine")
			}
			operators := []*env{newEnv(t), newEnv(t)}
			for _, e := range operators {
				e.create(hookCSV("hook.v1", server("hook")))
				e.succeeds("hook.v1")
			}
			for _, pair := range sees {
				seesPods(operators[pair[0]], operators[pair[1]])
			}
			prediction, exit := drillOf(operators[0])
			never := predictedNever(prediction)
			installtest.Same(t, "exit code", map[bool]int{true: 2}[len(never) > 0], exit)

			lost := loseAllPods(operators[0])
			returnsAsPredicted(operators[0], never, lost)
			for _, cycle := range prediction.Cycles {
				for _, change := range cycle.Changes {
					output, err := exec.CommandContext(operators[0].ctx, "bash", "-c", change.Command).CombinedOutput()
					if err != nil {
						t.Fatalf("%s: %v\n%s", change.Command, err, output)
					}
				}
			}
			operators[0].eventually("the operators return when their ReplicaSets are changed", func() (bool, any) {
				missing := int32(0)
				for _, e := range operators {
					triesAgain(e)
					missing += missingPods(e, types.NamespacedName{Namespace: e.namespace, Name: "hook"}, lost)
				}
				return missing == 0, missing
			})
			returnsAsPredicted(operators[0], nil, lost)
		})
	}
}

// seesPods registers the server of an operator for the creation of pods in a Namespace.
func seesPods(e, covered *env) {
	e.Helper()
	w := *e.registration().Webhooks[0].DeepCopy()
	w.Name, w.TimeoutSeconds, w.MatchConditions = "drill.example.com", new(int32(2)), nil
	w.Rules = []admissionregistrationv1.RuleWithOperations{installtest.RuleOf([]string{""}, []string{"pods"})}
	w.Rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
	w.NamespaceSelector, w.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: covered.namespace}}, &metav1.LabelSelector{}
	kube.CreateTemporary(e, kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations(), &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "drill-" + e.namespace}, Webhooks: []admissionregistrationv1.ValidatingWebhook{w},
	})
	e.eventually("the webhook sees pods in "+covered.namespace, func() (bool, any) {
		err := tryAPod(covered, map[string]string{"deny": "true"})
		return err != nil && strings.Contains(err.Error(), "labelled deny=true"), err
	})
}

// drillOf is what the command predicts of the cluster, and its exit code.
func drillOf(e *env) (drill.Prediction, int) {
	e.Helper()
	folder, err := plugin()
	e.must(err)
	cmd := exec.CommandContext(e.ctx, folder+"/kubectl-webhooks", "doctor", "drill", "-o", "json")
	output, err := cmd.Output()
	if cmd.ProcessState == nil {
		e.Fatal(err)
	}
	var prediction drill.Prediction
	e.must(json.Unmarshal(output, &prediction))
	return prediction, cmd.ProcessState.ExitCode()
}

func predictedNever(p drill.Prediction) sets.Set[types.NamespacedName] {
	never := sets.New[types.NamespacedName]()
	for _, s := range p.Never {
		if s.Kind == "Deployment" && s.Certain {
			never.Insert(types.NamespacedName{Namespace: s.Namespace, Name: s.Name})
		}
	}
	return never
}

// returnsAsPredicted compares all Deployments of the cluster with a prediction.
func returnsAsPredicted(e *env, never sets.Set[types.NamespacedName], lost sets.Set[types.UID]) {
	e.Helper()
	deployments := kube.List(e, kubeClient.AppsV1().Deployments(metav1.NamespaceAll), metav1.ListOptions{}).Items
	for _, d := range deployments {
		name := types.NamespacedName{Namespace: d.Namespace, Name: d.Name}
		if never.Has(name) || *d.Spec.Replicas == 0 {
			continue
		}
		e.eventually(fmt.Sprintf("Deployment %s returns, as predicted", name), func() (bool, any) {
			missing := missingPods(e, name, lost)
			return missing == 0, missing
		})
	}
	before := map[types.NamespacedName]int32{}
	for name := range never {
		before[name] = refusals(e, name.Namespace)
	}
	for name := range never {
		e.eventually(fmt.Sprintf("pods of Deployment %s are refused three times more, as predicted", name), func() (bool, any) {
			now := refusals(e, name.Namespace)
			return now >= before[name]+3, now
		})
		if pods := replacements(e, name, lost); len(pods) > 0 {
			e.Errorf("Deployment %s was predicted not to return, and has %d pods", name, len(pods))
		}
	}
}

// missingPods is the number of pods of a Deployment that have no ready replacement.
func missingPods(e *env, deployment types.NamespacedName, lost sets.Set[types.UID]) int32 {
	e.Helper()
	d := kube.Get(e, kubeClient.AppsV1().Deployments(deployment.Namespace), deployment.Name)
	return *d.Spec.Replicas - int32(installtest.Count(replacements(e, deployment, lost), isReady))
}

// triesAgain changes the ReplicaSets of a Namespace. The ReplicaSet controller waits twice as long after each refusal, but not
// after a change.
func triesAgain(e *env) {
	e.Helper()
	replicaSets := kubeClient.AppsV1().ReplicaSets(e.namespace)
	for _, r := range kube.List(e, replicaSets, metav1.ListOptions{}).Items {
		kube.Patch(e, replicaSets, r.Name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{"tried-at":%q}}}`, time.Now()))
	}
}

// replacements are the pods of a Deployment that were created after the loss.
func replacements(e *env, deployment types.NamespacedName, lost sets.Set[types.UID]) []corev1.Pod {
	e.Helper()
	d := kube.Get(e, kubeClient.AppsV1().Deployments(deployment.Namespace), deployment.Name)
	var all []corev1.Pod
	for _, pod := range kube.List(e, kubeClient.CoreV1().Pods(deployment.Namespace), metav1.ListOptions{LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector)}).Items {
		if !lost.Has(pod.UID) && pod.DeletionTimestamp == nil {
			all = append(all, pod)
		}
	}
	return all
}

// refusals is how often the ReplicaSet controller reported that the webhook of the test did not answer.
func refusals(e *env, namespace string) int32 {
	e.Helper()
	times := int32(0)
	for _, event := range kube.List(e, kubeClient.CoreV1().Events(namespace), metav1.ListOptions{FieldSelector: "involvedObject.kind=ReplicaSet,reason=FailedCreate"}).Items {
		if strings.Contains(event.Message, `failed calling webhook "drill.example.com"`) {
			times += event.Count
		}
	}
	return times
}

// predictsARestart runs the commands of docs/admin that predict what returns, with a cluster and without one. Other tests
// can have webhooks that keep something from returning.
func (g *guide) predictsARestart() {
	g.Helper()
	folder := g.TempDir()
	for _, command := range [][]string{
		{"kubectl webhooks doctor drill"},
		{"kubectl webhooks doctor drill -o yaml"},
		{"kubectl webhooks doctor drill -o mermaid", "drill.mmd", folder + "/drill.mmd"},
		{"kubectl get nodes,namespaces", "registrations.yaml", folder + "/registrations.yaml"},
		{"kubectl get -A leases", "workloads.yaml", folder + "/workloads.yaml"},
		{"kubectl webhooks doctor drill --dump", "registrations.yaml", folder + "/registrations.yaml", "workloads.yaml", folder + "/workloads.yaml"},
	} {
		if said, exit := g.try(command[0], command[1:]...); exit != 0 && exit != 2 {
			g.Errorf("%s: exit code %d\n%s", command[0], exit, said)
		}
	}
}
