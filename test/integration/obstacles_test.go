package integration

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// What cannot be created is reported on the ClusterServiceVersion and the WebhookRollout. Nothing is registered,
// objects of other clients are not modified, and it continues once the cause no longer exists.
func TestObstacles(t *testing.T) {
	type version = operatorsv1alpha1.ClusterServiceVersion
	for name, test := range map[string]struct {
		prepare func(*env)
		spoil   func(*version)
		phase   operatorsv1alpha1.ClusterServiceVersionPhase // Failed, where it is empty
		reason  operatorsv1alpha1.ConditionReason            // InstallComponentFailed, where it is empty
		message string
		state   string
		fix     func(*env)
	}{
		"another's Secret has the name": {
			prepare: func(e *env) { secret(e, "server-service-cert") },
			phase:   operatorsv1alpha1.CSVPhaseInstalling, reason: operatorsv1alpha1.CSVReasonWaiting,
			message: "delete the Secret or give it another name", state: "Waiting",
			fix: func(e *env) {
				e.must(e.kube.CoreV1().Secrets(e.namespace).Delete(e.ctx, "server-service-cert", metav1.DeleteOptions{}))
				touch(e, "operator.v1") // a Secret that is not the manager's is not watched
			},
		},
		"a quota forbids the Secret": {
			prepare: func(e *env) { forbidSecrets(e) },
			message: "exceeded quota: none", state: "Waiting",
			fix: func(e *env) {
				e.must(e.kube.CoreV1().ResourceQuotas(e.namespace).Delete(e.ctx, "none", metav1.DeleteOptions{}))
				e.eventually("Secrets are allowed", func() (bool, any) { err := tryASecret(e); return err == nil, err })
				touch(e, "operator.v1")
			},
		},
		"another operator's Deployment has the name": {
			prepare: func(e *env) { othersDeployment(e, "server") },
			message: "belongs to ClusterServiceVersion other.v1", state: "Waiting",
			fix: func(e *env) {
				e.must(e.kube.AppsV1().Deployments(e.namespace).Delete(e.ctx, "server", metav1.DeleteOptions{}))
				touch(e, "operator.v1")
			},
		},
		"a webhook's name is not valid": {
			spoil:   func(c *version) { c.Spec.WebhookDefinitions[0].GenerateName = "v" },
			message: "should be a domain with at least three segments", state: "Blocked",
			fix: edited(func(c *version) { c.Spec.WebhookDefinitions[0].GenerateName = "v.example.com" }),
		},
		"a webhook's name is no part of a path": {
			spoil:   func(c *version) { c.Spec.WebhookDefinitions[0].GenerateName = "v/100%.example.com" },
			message: `Invalid value: "v/100%.example.com`, state: "Blocked",
			fix: edited(func(c *version) { c.Spec.WebhookDefinitions[0].GenerateName = "v.example.com" }),
		},
		"two webhooks have one name": {
			spoil: func(c *version) {
				c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, c.Spec.WebhookDefinitions[0])
			},
			phase: operatorsv1alpha1.CSVPhaseFailed, reason: operatorsv1alpha1.CSVReasonInvalidWebhookDescription,
			message: "CSV contains repeated WebhookDescription name", state: "Blocked",
			fix: edited(func(c *version) { c.Spec.WebhookDefinitions[1].GenerateName = "w.example.com" }),
		},
		"two Deployments have one name": {
			spoil: func(c *version) {
				deployments := &c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
				*deployments = append(*deployments, deploymentSpec("server"))
			},
			phase: operatorsv1alpha1.CSVPhasePending, reason: operatorsv1alpha1.CSVReasonRequirementsNotMet,
			message: `spec.install.spec.deployments[0], [1] have the name "server"`, state: "Blocked",
			fix: edited(func(c *version) { c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[1].Name = "other" }),
		},
		"a Deployment has no name": {
			spoil: func(c *version) {
				c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name, c.Spec.WebhookDefinitions[0].DeploymentName = "", ""
			},
			message: "name or generateName is required", state: "Waiting",
			fix: edited(func(c *version) {
				c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name, c.Spec.WebhookDefinitions[0].DeploymentName = "server", "server"
			}),
		},
		"a rule is not valid": {
			spoil: func(c *version) {
				c.Spec.WebhookDefinitions[0].Rules[0].Operations = []admissionregistrationv1.OperationType{"UPSERT"}
			},
			message: `Unsupported value: "UPSERT"`, state: "Blocked",
			fix: edited(func(c *version) {
				c.Spec.WebhookDefinitions[0].Rules[0].Operations = []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
			}),
		},
		"a Deployment is not valid": {
			spoil:   func(c *version) { container(c).Name = "Not Valid" },
			message: `Invalid value: "Not Valid"`, state: "Waiting",
			fix: edited(func(c *version) { container(c).Name = "valid" }),
		},
		"a targetPort is not valid": {
			spoil:   func(c *version) { c.Spec.WebhookDefinitions[0].TargetPort = new(intstr.FromString("Not_Valid")) },
			message: `Invalid value: "Not_Valid"`, state: "Waiting",
			fix: edited(func(c *version) { c.Spec.WebhookDefinitions[0].TargetPort = nil }),
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			m := e.manage()
			c := csv("operator.v1", "server")
			if test.prepare != nil {
				test.prepare(e)
			} else {
				test.spoil(c)
			}
			e.create(c)
			phase, reason := cmp.Or(test.phase, operatorsv1alpha1.CSVPhaseFailed), cmp.Or(test.reason, operatorsv1alpha1.CSVReasonComponentFailed)
			e.eventually("the ClusterServiceVersion reports what is wrong", func() (bool, any) {
				s := e.get("operator.v1").Status
				return s.Phase == phase && s.Reason == reason && strings.Contains(csvstatus.Explained(s), test.message), csvstatus.Explained(s)
			})
			if w := webhookStatus(e, "operator.v1", c.Spec.WebhookDefinitions[0].GenerateName); string(w.State) != test.state || !strings.Contains(w.Message, test.message) {
				t.Errorf("the WebhookRollout reports %s: %s; want %s: %s", w.State, w.Message, test.state, test.message)
			}
			registersNothing(e)
			m.looksAgain("operator.v1")
			status, since := e.get("operator.v1").Status, auditEnd(e)
			m.looksAgain("operator.v1")
			none(t, "changes by another reconciliation", m.changes(since))
			same(t, "the status after another reconciliation", e.get("operator.v1").Status, status)
			untouched(e, "secrets", "deployments")
			test.fix(e)
			e.succeeds("operator.v1")
		})
	}
}

func edited(change func(*operatorsv1alpha1.ClusterServiceVersion)) func(*env) {
	return func(e *env) { e.edit("operator.v1", change) }
}

func secret(e *env, name string) {
	e.Helper()
	_, err := e.kube.CoreV1().Secrets(e.namespace).Create(e.ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: theirs}, StringData: map[string]string{"password": "theirs"}}, metav1.CreateOptions{})
	e.must(err)
}

// forbidSecrets sets a quota, and returns when the API server heeds it.
func forbidSecrets(e *env) {
	e.Helper()
	none := corev1.ResourceList{corev1.ResourceSecrets: resource.MustParse("0")}
	client := e.kube.CoreV1().ResourceQuotas(e.namespace)
	quota := kube.Create(e, client, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "none"}, Spec: corev1.ResourceQuotaSpec{Hard: none}})
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	kube.UpdateStatus(e, client, quota)
	e.eventually("Secrets are forbidden", func() (bool, any) { err := tryASecret(e); return apierrors.IsForbidden(err), err })
}

func tryASecret(e *env) error {
	_, err := e.kube.CoreV1().Secrets(e.namespace).Create(e.ctx,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "try"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func othersDeployment(e *env, name string) {
	e.Helper()
	owner := metav1.OwnerReference{APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion", Name: "other.v1", UID: "0"}
	kube.Create(e, e.kube.AppsV1().Deployments(e.namespace), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: theirs, OwnerReferences: []metav1.OwnerReference{owner}}, Spec: deploymentSpec("others").Spec,
	})
}

// theirs marks objects that the manager must not touch.
var theirs = map[string]string{"test": "theirs"}

func untouched(e *env, resources ...string) {
	e.Helper()
	for _, kind := range derived {
		if !slices.Contains(resources, kind.Resource) {
			continue
		}
		for _, o := range kube.List(e, e.any.Resource(kind).Namespace(e.namespace), metav1.ListOptions{LabelSelector: "test=theirs"}).Items {
			for _, entry := range o.GetManagedFields() {
				if entry.Manager == wellknown.FieldManager {
					e.Errorf("the manager wrote to %s %s: %s", o.GetKind(), o.GetName(), entry.FieldsV1)
				}
			}
		}
	}
}
