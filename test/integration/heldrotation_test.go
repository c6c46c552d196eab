package integration

import (
	"bytes"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// Certificates end, whatever holds their ClusterServiceVersion up.
func TestRotationWhileHeld(t *testing.T) {
	for name, hold := range map[string]func(*env){
		"without an OperatorGroup": func(e *env) {
			e.must(e.olm.OperatorsV1().OperatorGroups(e.namespace).Delete(e.ctx, "og", metav1.DeleteOptions{}))
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
			next := csv("operator.v2", "server")
			next.Spec.Replaces = "operator.v1"
			next.Spec.CustomResourceDefinitions.Required = []operatorsv1alpha1.CRDDescription{{Name: "absent.example.com", Version: "v1", Kind: "Absent"}}
			e.create(next)
			e.reaches("operator.v2", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			e.group("og", allNamespaces)
			e.runDeployments()
			m := e.manage()
			e.install(csv("operator.v1", "server"))
			hold(e)
			before, trust := e.servingCA(), e.watchTrust()
			e.order("once")
			e.rotates(2)
			trust.neverWithout(before, e.servingCA())
			m.looksAgain("operator.v1")
			since := e.auditEnd()
			m.looksAgain("operator.v1")
			m.writesNothing(since)
		})
	}
}

// A version that has taken over, and is not rolled out yet, looks after the certificate.
func TestRotationDuringAnUpgrade(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.manage()
	e.create(csv("operator.v1", "server"))
	e.eventually("there is a Deployment", func() (bool, any) { return e.deployment("server") != nil, nil })
	e.setAvailable("server", true)
	e.succeeds("operator.v1")
	before, trust := e.servingCA(), e.watchTrust()
	next := csv("operator.v2", "server")
	next.Spec.Replaces = "operator.v1"
	next.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0].Image = "example.com/server:2"
	e.create(next)
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	e.edit("operator.v2", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, vocabulary.AnnotationRotate, "once")
	})
	e.eventually("nothing but another CA is trusted", func() (bool, any) {
		ca := e.servingCA()
		return !bytes.Equal(ca, before) && bytes.Equal(e.registration("v.example.com").Webhooks[0].ClientConfig.CABundle, ca), string(ca)
	})
	trust.neverWithout(before, e.servingCA())
	e.setAvailable("server", true)
	e.succeeds("operator.v2")
}

// While objects need the conversion of an operator that is to go, its certificate is
// replaced as ever.
func TestRotationWhileAConversionIsInUse(t *testing.T) {
	e := newParallelEnv(t)
	crd := e.newCRD("sprockets", "v1", "v2")
	e.group("og", operatorsv1.OperatorGroupSpec{})
	e.runDeployments()
	e.manage()
	object := e.newObject(crd)
	e.create(converting("operator.v1", crd.Name))
	e.succeeds("operator.v1")
	e.must(e.olm.OperatorsV1alpha1().ClusterServiceVersions(e.namespace).Delete(e.ctx, "operator.v1", metav1.DeleteOptions{}))
	e.eventually("the uninstallation is held up", func() (bool, any) {
		return meta.IsStatusConditionTrue(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionConversionInUse), nil
	})
	before := e.servingCA()
	e.order("once")
	e.eventually("the conversion trusts nothing but another CA, and the status says so", func() (bool, any) {
		ca, c := e.servingCA(), e.rotation()
		return !bytes.Equal(ca, before) && bytes.Equal(e.conversion(crd.Name).Webhook.ClientConfig.CABundle, ca) &&
			c.Generation == 2 && c.Phase == managerv1alpha1.CertificateStable, c
	})
	if !meta.IsStatusConditionTrue(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionConversionInUse) {
		t.Error("the status does not say any more what holds the uninstallation up")
	}
	e.must(e.objects(crd).Delete(e.ctx, object, metav1.DeleteOptions{}))
	e.touch("operator.v1")
	e.eventually("the ClusterServiceVersion is gone", func() (bool, any) { return e.isGone("operator.v1"), nil })
}
