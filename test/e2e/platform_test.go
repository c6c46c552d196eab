package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// unmirrored is an image that no node has: a policy replaces it by the one of its mirror.
const unmirrored = "registry.example.com/hook:dev"

// A platform rewrites images by a MutatingAdmissionPolicy, and sets resources by a webhook. No call fails, and the
// manager does not modify what the platform changed.
func TestPlatformThatMutates(t *testing.T) {
	log := kube.ClusterAuditLog()
	if !log.Available() {
		t.Skip("the cluster that KUBECONFIG names is not the one from test/cluster, so there is no audit log to count writes in")
	}
	platform, e := newEnv(t), newEnv(t)
	platform.create(hookCSV("platform.v1", server("platform", "--reload")))
	platform.succeeds("platform.v1")
	setsResources(platform, e.namespace)
	mirrorsImages(e)

	version := func(name, replaces string) *operatorsv1alpha1.ClusterServiceVersion {
		csv := hookCSV(name, draining(server("hook", "--reload", "--drain")))
		csv.Spec.Replaces = replaces
		container := &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0]
		container.Image = unmirrored
		container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("5m")}
		container.Env = append(container.Env, corev1.EnvVar{Name: "VERSION", Value: name})
		return csv
	}
	load := calls.Start(e, between, func(ctx context.Context) calls.Call { return e.call(ctx, true) })
	e.create(version("hook.v1", ""))
	e.succeeds("hook.v1")
	live := time.Now()
	isMutated(e, "hook.v1")
	load.GoesOn(calls.Denied)

	e.create(version("hook.v2", "hook.v1"))
	e.succeeds("hook.v2")
	isGone(e, "hook.v1")
	isMutated(e, "hook.v2")
	load.GoesOn(calls.Denied)

	e.order("hook.v2", "once")
	e.rotates("hook.v2", 2)
	e.haveFollowed(2)
	isMutated(e, "hook.v2")
	writesNothingFor(e, time.Minute, log, load)

	deleted := time.Now()
	e.uninstall("hook.v2")
	load.GoesOn(calls.Uncovered)
	load.End(func(c calls.Call) bool { return calls.UncoveredBefore(live)(c) || calls.UncoveredSince(deleted)(c) })
}

// writesNothingFor fails when the manager writes anything while calls continue for a time.
func writesNothingFor(e *env, quiet time.Duration, log kube.AuditLog, load *calls.Load) {
	e.Helper()
	start, err := log.End()
	e.must(err)
	for began := time.Now(); time.Since(began) < quiet; {
		load.GoesOn(calls.Denied)
	}
	for _, request := range kube.Writes(log.Requests(e, config, start), userAgent) {
		e.Errorf("a manager that had nothing to do sent: %s %s", request.Verb, request.RequestURI)
	}
}

// mirrorsImages has a policy replace the image of the Namespace's Deployments, and add a toleration.
func mirrorsImages(e *env) {
	e.Helper()
	admission := kubeClient.AdmissionregistrationV1()
	name := e.namespace + "-mirror"
	kube.CreateTemporary(e, admission.MutatingAdmissionPolicies(), &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			FailurePolicy: new(admissionregistrationv1.Fail), ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.namespace}},
				ResourceRules:     []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: onWrites("apps", "deployments")}, {RuleWithOperations: onWrites("", "serviceaccounts")}},
			},
			Mutations: []admissionregistrationv1.Mutation{{PatchType: admissionregistrationv1.PatchTypeJSONPatch, JSONPatch: &admissionregistrationv1.JSONPatch{Expression: fmt.Sprintf(`
				request.resource.resource == "serviceaccounts" ?
				[JSONPatch{op: "add", path: "/automountServiceAccountToken", value: false}] :
				[
					JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: %q},
					JSONPatch{op: "add", path: "/spec/template/spec/tolerations", value: [{"key": "platform.example.com/dedicated", "operator": "Exists"}]}
				]`, hookImage)}}},
		},
	})
	kube.CreateTemporary(e, admission.MutatingAdmissionPolicyBindings(), &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name},
	})
	e.eventually("the policy works", func() (bool, any) {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		created, err := kubeClient.CoreV1().ServiceAccounts(e.namespace).Create(e.ctx, account, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && created.AutomountServiceAccountToken != nil, err
	})
}

// setsResources registers the server of the platform's operator as a webhook that sets resources of
// another Namespace's Deployments.
func setsResources(e *env, namespace string) {
	e.Helper()
	secret := kube.Get(e, kubeClient.CoreV1().Secrets(e.namespace), "platform-service-cert")
	configurations := kubeClient.AdmissionregistrationV1().MutatingWebhookConfigurations()
	name := e.namespace + "-resources"
	kube.CreateTemporary(e, configurations, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "resources.platform.example.com", SideEffects: new(admissionregistrationv1.SideEffectClassNone), AdmissionReviewVersions: []string{"v1"},
			FailurePolicy: new(admissionregistrationv1.Fail), NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{onWrites("apps", "deployments")},
			ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: secret.Data[wellknown.KeyCA], Service: &admissionregistrationv1.ServiceReference{
				Namespace: e.namespace, Name: "platform-service", Path: new("/resources"), Port: new(int32(443)),
			}},
		}},
	})
}

func onWrites(group, resource string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{"v1"}, Resources: []string{resource}},
	}
}

func isMutated(e *env, csv string) {
	e.Helper()
	e.eventually("the condition names what admission changed", func() (bool, any) {
		rollout, err := olmClient.WebhookRollouts(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		c := meta.FindStatusCondition(rollout.Status.Conditions, "ChangedByAdmission")
		if c == nil {
			return false, rollout.Status.Conditions
		}
		return !slices.ContainsFunc([]string{"image", "resources.requests.cpu", "changed by admission"}, func(part string) bool { return !strings.Contains(c.Message, part) }), c.Message
	})
	d := hookSpec(e)
	if container := d.Containers[0]; container.Image != hookImage || container.Resources.Requests.Cpu().String() != "7m" || len(d.Tolerations) != 1 {
		e.Errorf("the Deployment has the image %s, resources %v and tolerations %v", container.Image, container.Resources, d.Tolerations)
	}
}

func hookSpec(e *env) corev1.PodSpec {
	e.Helper()
	return kube.Get(e, kubeClient.AppsV1().Deployments(e.namespace), "hook").Spec.Template.Spec
}
