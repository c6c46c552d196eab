package integration

import (
	"bytes"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Certificates expire, also while their ClusterServiceVersion is blocked.
func TestRotationWhileHeld(t *testing.T) {
	for name, hold := range map[string]func(*env){
		"without an OperatorGroup": func(e *env) {
			e.must(e.olm.OperatorGroups(e.namespace).Delete(e.ctx, "og", metav1.DeleteOptions{}))
			e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonNoOperatorGroup)
		},
		"with a forbidden rule": func(e *env) {
			e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].Rules[0].APIGroups = []string{"*"}
			})
			e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription)
		},
		"where a webhook names a Deployment that is not there": func(e *env) {
			e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].DeploymentName = "sever"
			})
			e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
		},
		"where a webhook is left out, and another a mistake": func(e *env) {
			e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{webhook("w.example.com", "sever")}
				c.Spec.WebhookDefinitions[0].Rules[0].APIGroups = []string{"*"}
			})
			e.reaches("operator.v1", operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription)
		},
		"while an upgrade waits": func(e *env) {
			next := replacing("operator.v1", csv("operator.v2", "server"))
			next.Spec.CustomResourceDefinitions.Required = []operatorsv1alpha1.CRDDescription{{Name: "absent.example.com", Version: "v1", Kind: "Absent"}}
			e.create(next)
			e.reaches("operator.v2", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, m := newRunningOperator(t)
			hold(e)
			before, trust := e.servingCA(), watchTrust(e)
			e.order("once")
			rotates(e, 2)
			trust.neverWithout(before, e.servingCA())
			m.settles("operator.v1")
		})
	}
}

// A version that has become active, and is not rolled out yet, looks after the certificate.
func TestRotationDuringAnUpgrade(t *testing.T) {
	e := newGroupEnv(t)
	e.manage()
	e.create(csv("operator.v1", "server"))
	e.eventually("there is a Deployment", func() (bool, any) { return e.deployment("server") != nil, nil })
	serverStarts(e)
	before, trust := e.servingCA(), watchTrust(e)
	next := replacing("operator.v1", csv("operator.v2", "server"))
	next.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0].Image = "example.com/server:2"
	e.create(next)
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	e.edit("operator.v2", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, wellknown.AnnotationRotate, "once")
	})
	e.eventually("nothing but another CA is trusted", func() (bool, any) {
		ca := e.servingCA()
		return !bytes.Equal(ca, before) && bytes.Equal(e.registration("v.example.com").Webhooks[0].ClientConfig.CABundle, ca), string(ca)
	})
	trust.neverWithout(before, e.servingCA())
	setAvailable(e, "server", true)
	e.succeeds("operator.v2")
}

func TestRotationWhileAConversionIsInUse(t *testing.T) {
	h := newHeld(t)
	h.must(h.olm.ClusterServiceVersions(h.namespace).Delete(h.ctx, "operator.v1", metav1.DeleteOptions{}))
	h.isHeld()
	before := h.servingCA()
	h.order("once")
	h.eventually("the conversion trusts nothing but another CA, and the status reports it", func() (bool, any) {
		ca, c := h.servingCA(), rotation(h.env)
		return !bytes.Equal(ca, before) && bytes.Equal(conversion(h.env, h.crd.Name).Webhook.ClientConfig.CABundle, ca) &&
			c.Generation == 2 && c.Phase == managerv1alpha1.CertificateStable, c
	})
	h.isHeld()
	h.release()
}

// An operator that has lost a requirement is Pending, but its webhooks are called: they are repaired, and their
// certificates are renewed. Other changes wait until the requirement is met again.
func TestUpkeepWithoutARequirement(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	m := e.manage()
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	e.install(needs(csv("operator.v1", "server"), "account"))
	pending := func() {
		e.Helper()
		e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	}
	e.must(e.kube.CoreV1().ServiceAccounts(e.namespace).Delete(e.ctx, "account", metav1.DeleteOptions{}))
	pending()

	name, registrations := e.registration("v.example.com").Name, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	kube.Patch(e, registrations, name, types.JSONPatchType, []byte(`[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]`))
	becomes(e, "the policy is as declared", func() admissionregistrationv1.FailurePolicyType {
		return *e.registration("v.example.com").Webhooks[0].FailurePolicy
	}, admissionregistrationv1.Fail)
	e.must(registrations.Delete(e.ctx, name, metav1.DeleteOptions{}))
	e.eventually("the registration is back", func() (bool, any) { return len(registered(e)) == 1, nil })
	before, trust := e.servingCA(), watchTrust(e)
	e.order("once")
	rotates(e, 2)
	trust.neverWithout(before, e.servingCA())
	pending()

	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		container(c).Image = "example.com/server:2"
		c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("second.example.com", "server"))
	})
	m.looksAgain("operator.v1")
	if image := e.deployment("server").Spec.Template.Spec.Containers[0].Image; image != "example.com/server:1" || len(registered(e)) != 1 {
		t.Errorf("the Deployment has %s, registered are %q: something was begun", image, webhooks(e))
	}
	quiet := auditEnd(e)
	m.looksAgain("operator.v1")
	m.writesNothing(quiet)
	serviceAccount(e, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "account"}})
	e.succeeds("operator.v1")
	same(t, "the number of registrations", len(registered(e)), 2)
}
