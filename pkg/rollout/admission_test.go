package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// reconcileAdmission reconciles and counts refused writes, as the controller does.
func (c *cluster) reconcileAdmission() Plan {
	c.t.Helper()
	plan := c.reconcileContest()
	for _, step := range plan.Steps {
		if change, refused := c.Observed.Writes[step.Key()].Refused(); refused && step.Drift.By == "" {
			c.Observed.Contests[step.Key()] = c.Observed.Contests[step.Key()].Repaired(change, c.now)
		}
	}
	for name := range c.Observed.Deployments {
		c.becomeAvailable(name)
	}
	return plan
}

// platform changes a Deployment as admission policies of many clusters do: another registry, a
// toleration, an annotation and default resources.
func platform(o drift.Object) {
	d, ok := o.(*appsv1.Deployment)
	if !ok {
		return
	}
	pod := &d.Spec.Template.Spec
	pod.Containers[0].Image = "mirror.example.com/" + strings.TrimPrefix(pod.Containers[0].Image, "mirror.example.com/")
	pod.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("50m")}
	pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: "platform"})
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, "platform.example.com/seen", "yes")
}

func TestChangedByAdmission(t *testing.T) {
	const fields = `Deployment shop/manager: spec.template.spec.tolerations, spec.template.spec.containers[name="manager"].image, spec.template.spec.containers[name="manager"].resources.requests.cpu changed by admission`
	c := clusterWith(t, webhookOf("manager"))
	pod := &c.spec("manager").Spec.Template.Spec
	pod.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("10m")}
	pod.Tolerations = []corev1.Toleration{{Key: "mine"}}
	c.admit = platform
	rests := func(when string) Plan {
		t.Helper()
		var plan Plan
		for range 10 {
			plan = c.reconcileAdmission()
			c.wait(10 * time.Second)
		}
		installtest.None(t, "steps "+when, plan.Steps)
		c.expectPhase(when, succeeded)
		return plan
	}
	reconcileAdmission := func(when, want string) {
		t.Helper()
		plan := rests(when)
		installtest.Says(t, when+": the condition", want, conditionOf(plan, "ChangedByAdmission"))
		installtest.Same(t, when+": contested", "", conditionOf(plan, "Contested"))
	}
	reconcileAdmission("installed", fields)

	edited := c.Observed.Deployments["manager"]
	edited.Spec.Template.Spec.Containers[0].Image = "evil:1"
	edited.ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-edit", `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"manager\"}":{"f:image":{}}}}}}}`)}
	installtest.Same(t, "edited: the number of steps", 1, len(c.reconcileAdmission().Steps))
	installtest.Same(t, "the image after the edit", "mirror.example.com/shop:1", c.image("manager"))
	reconcileAdmission("edited", fields)

	*c.Observed.Deployments["manager"].Spec.Replicas = 5
	reconcileAdmission("scaled", fields)

	pod.Containers[0].Image = "shop:2"
	installtest.Same(t, "another image: the number of steps", 1, len(c.reconcileAdmission().Steps))
	reconcileAdmission("another image", fields)
	installtest.Same(t, "the image", "mirror.example.com/shop:2", c.image("manager"))

	c.admit = nil
	reconcileAdmission("the policy is removed", fields)
	pod.Containers[0].Image = "shop:3"
	reconcileAdmission("another image without the policy", "")
}

// A process that did not write an object itself uses a dry run.
func TestAdmissionAfterARestart(t *testing.T) {
	c := clusterWith(t, webhookOf("manager"))
	c.admit = platform
	for range 5 {
		c.reconcileAdmission()
		c.wait(10 * time.Second)
	}
	for name, test := range map[string]struct {
		admit        func(drift.Object)
		wantAccepted bool
	}{
		"same policy":    {platform, true},
		"policy removed": {func(drift.Object) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c.Observed.Writes = map[string]drift.Write{}
			plan := c.next()
			if len(plan.Steps) != 1 || !plan.Steps[0].NeedsDryRun {
				t.Fatalf("steps %q", stepsOf(plan))
			}
			answer := plan.Steps[0].Object.DeepCopyObject().(drift.Object)
			setDefaults(answer)
			test.admit(answer)
			write, accepted := drift.WriteOfDryRun(plan.Steps[0].Desired, plan.Steps[0].Live, answer)
			installtest.Same(t, "accepted", test.wantAccepted, accepted)
			if !accepted {
				return
			}
			c.Observed.Writes[plan.Steps[0].Key()] = write
			installtest.Same(t, "steps", []string(nil), stepsOf(c.next()))
		})
	}
	c.Observed.Writes = map[string]drift.Write{}
	c.Observed.Deployments["manager"].Spec.Template.Spec.Containers[0].Image = "evil:1"
	c.Observed.Deployments["manager"].ManagedFields = []metav1.ManagedFieldsEntry{wrote("kubectl-edit", `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"manager\"}":{"f:image":{}}}}}}}`)}
	if plan := c.next(); len(plan.Steps) != 1 || plan.Steps[0].NeedsDryRun {
		t.Errorf("edited by another client: steps %q", stepsOf(plan))
	}
}

// Fields of the called server, its trust or permissions are never accepted from admission, and repaired within a limit.
func TestNeverAcceptedFromAdmission(t *testing.T) {
	for name, test := range map[string]struct {
		admit func(drift.Object)
		want  string // in the condition Contested
	}{
		"selector of a Service": {func(o drift.Object) {
			if s, ok := o.(*corev1.Service); ok {
				s.Spec.Selector = map[string]string{"app": "other"}
			}
		}, "Service shop/manager-service: admission keeps changing spec.selector back"},
		"port of a Service": {func(o drift.Object) {
			if s, ok := o.(*corev1.Service); ok {
				s.Spec.Ports[0].TargetPort.IntVal = 1
			}
		}, "Service shop/manager-service: admission keeps changing spec.ports"},
		"rule of a Role": {func(o drift.Object) {
			if r, ok := o.(*rbacv1.Role); ok {
				r.Rules = []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"secrets"}}}
			}
		}, "Role shop/manager-service-cert: admission keeps changing rules back"},
		"failurePolicy": {func(o drift.Object) {
			if v, ok := o.(*admissionregistrationv1.ValidatingWebhookConfiguration); ok {
				v.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
			}
		}, `admission keeps changing webhooks[name="v.manager.example.com"].failurePolicy back`},
		"caBundle": {func(o drift.Object) {
			if v, ok := o.(*admissionregistrationv1.ValidatingWebhookConfiguration); ok {
				v.Webhooks[0].ClientConfig.CABundle = []byte("other")
			}
		}, `admission keeps changing webhooks[name="v.manager.example.com"].clientConfig.caBundle back`},
		"caBundle of an APIService": {func(o drift.Object) {
			if s, ok := o.(*apiregistrationv1.APIService); ok {
				s.Spec.CABundle = []byte("other")
			}
		}, "APIService " + pondAPI + ": admission keeps changing spec.caBundle back"},
		"label that selects pods": {func(o drift.Object) {
			if d, ok := o.(*appsv1.Deployment); ok {
				delete(d.Spec.Template.Labels, "olm-webhook-manager.io/csv")
			}
		}, "Deployment shop/manager: admission keeps changing spec.template.metadata.labels.olm-webhook-manager.io/csv back"},
		"a different value each time": {func() func(drift.Object) {
			n := 0
			return func(o drift.Object) {
				if s, ok := o.(*corev1.Service); ok {
					n++
					s.Spec.Selector = map[string]string{"app": fmt.Sprint(n)}
				}
			}
		}(), "Service shop/manager-service: admission keeps changing spec.selector back"},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWith(t, webhookOf("manager"))
			c.declareAPIService("v1", "manager")
			c.admit = test.admit
			writes, contested := 0, ""
			for range 100 {
				for _, step := range c.reconcileAdmission().Steps {
					if change, _ := c.Observed.Writes[step.Key()].Refused(); !change.None() {
						writes++
					}
				}
				contested = conditionOf(c.next(), "Contested")
				c.wait(500 * time.Millisecond)
			}
			installtest.Says(t, "the condition", test.want, contested)
			if writes > 4 {
				t.Errorf("%d writes in 50 s", writes)
			}
		})
	}
}

// Repeated entries of a list are compared, too.
func TestAdmissionOfRepeatedEntries(t *testing.T) {
	c := clusterWith(t, webhookOf("manager"))
	env := []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "A", Value: "2"}}
	c.spec("manager").Spec.Template.Spec.Containers[0].Env = env
	c.admit = platform
	for range 5 {
		c.reconcileAdmission()
		c.wait(10 * time.Second)
	}
	plan := c.next()
	installtest.Same(t, "steps", []string(nil), stepsOf(plan))
	installtest.Says(t, "the condition", "image changed by admission", conditionOf(plan, "ChangedByAdmission"))
}
