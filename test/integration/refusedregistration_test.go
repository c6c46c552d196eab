package integration

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// A policy that refuses writes of one definition does not keep the other registrations from trusting another
// certificate when the Secret is lost. The definition is reported as lost until it can be written.
func TestSecretIsLostWhileOneRegistrationIsRefused(t *testing.T) {
	e := newParallelEnv(t)
	crd := convertAndValidate(e)
	accept := refuse(e, crd)
	e.must(e.kube.CoreV1().Secrets(e.namespace).Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
	losesAlone(e, crd, 2)
	accept()
	touch(e, "operator.v1")
	isNotLost(e, crd)
}

// Such a definition holds up the rotation for a tenth of what is left of the certificate.
func TestOneRegistrationIsRefused(t *testing.T) {
	e := newParallelEnv(t)
	crd := convertAndValidate(e)
	accept := refuse(e, crd)
	e.order("once")
	e.rotationIs(managerv1alpha1.CertificateDistributing, "", crd+" does not trust the next certificate yet",
		"on the other registrations do not wait for it any longer")
	begun := time.Now().Add(-10 * 24 * time.Hour).UTC().Format(time.RFC3339Nano) // more than a tenth of 90 days ago
	patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: %q}}}`, wellknown.AnnotationNextStoredAt, begun)
	_, err := e.kube.CoreV1().Secrets(e.namespace).Patch(e.ctx, servingSecret, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "administrator"})
	e.must(err)
	losesAlone(e, crd, 2)
	accept()
	touch(e, "operator.v1")
	isNotLost(e, crd)
}

// API servers call a registration until it is deleted: it trusts the next certificate as the others do.
func TestRegistrationThatStaysTrustsTheNextCertificate(t *testing.T) {
	kept := func(e *env, configuration string) (accept func()) {
		setFinalizers(e, configuration, `["example.com/keep"]`)
		return sync.OnceFunc(func() { setFinalizers(e, configuration, "null") })
	}
	undeclare := func(e *env) {
		e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
			c.Spec.WebhookDefinitions = c.Spec.WebhookDefinitions[1:]
		})
	}
	for name, test := range map[string]struct {
		keep func(*env, string) func()
		end  func(*env)
	}{
		"undeclared, the deletion refused": {refuseDeletion, undeclare},
		"undeclared, kept by a finalizer":  {kept, undeclare},
		"undeclared with its Deployment":   {refuseDeletion, undeclareDeployment},
		"the last one of its Deployment": {kept, func(e *env) {
			e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions = c.Spec.WebhookDefinitions[2:]
			})
		}},
		"switched off, kept by a finalizer": {kept, func(e *env) {
			reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) {
				c.Annotations = map[string]string{wellknown.AnnotationDisabledWebhooks: "v.example.com"}
			})
		}},
		"of an operator that yields": {refuseDeletion, func(e *env) {
			editGroup(e, "og", func(g *operatorsv1.OperatorGroup) { g.Spec.StaticProvidedAPIs = true })
			provide(e, "Other.v1.example.com")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOwnNamespaceEnv(t)
			subscribe(e, &operatorsv1alpha1.SubscriptionConfig{})
			e.manage()
			c := csv("operator.v1", "server", "other")
			c.Spec.CustomResourceDefinitions = owning("operator", newCRD(e, "things", "v1").Name).Spec.CustomResourceDefinitions
			c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("w.example.com", "server"), webhook("o.example.com", "other"))
			e.install(c)
			configuration := webhookStatus(e, "operator.v1", "v.example.com").Configuration
			accept := test.keep(e, configuration)
			defer accept()
			test.end(e)
			e.eventually("the registration stays", func() (bool, any) {
				why := conditionIn(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionUnregistrationRefused).Message
				return strings.Contains(why, configuration), why
			})
			before := e.servingCA()
			e.order("while it stays")
			e.eventually("the certificate is renewed, and the registration trusts it", func() (bool, any) {
				return string(e.servingCA()) != string(before) && trusts(e, e.servingCA()), e.rollout("operator.v1").Deployments
			})
			accept()
			touch(e, "operator.v1")
			e.eventually("it is deleted", func() (bool, any) { _, found := registered(e)["v.example.com"]; return !found, nil })
		})
	}
}

// undeclareDeployment leaves the Deployment other alone.
func undeclareDeployment(e *env) {
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		c.Spec.WebhookDefinitions = c.Spec.WebhookDefinitions[2:]
		specs := &c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
		*specs = (*specs)[1:]
	})
}

func convertAndValidate(e *env) (crd string) {
	e.Helper()
	crd = newCRD(e, "gauges", "v1", "v2").Name
	e.group("og", operatorsv1.OperatorGroupSpec{})
	e.runDeployments()
	e.manage()
	c := converting("operator.v1", crd)
	c.Spec.WebhookDefinitions[0].GenerateName = "c.example.com"
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("v.example.com", "server"))
	e.install(c)
	return crd
}

// losesAlone waits until the validating webhook trusts what pods are given, and the definition is reported as lost.
func losesAlone(e *env, crd string, generation int64) {
	e.Helper()
	e.eventually("pods are given another certificate, which the definition does not trust", func() (bool, any) {
		c := rotation(e)
		ca := e.servingCA()
		return c.Generation == generation && c.Phase == managerv1alpha1.CertificateStable && len(certificate(e).Data[corev1.TLSPrivateKeyKey]) > 0 && len(ca) > 0 && trusts(e, ca) &&
			slices.Equal(c.LostRegistrations, []string{"CustomResourceDefinition " + crd}) && strings.Contains(c.Message, "no change of this definition"), c
	})
}

func isNotLost(e *env, crd string) {
	e.Helper()
	e.eventually("the definition trusts what pods are given", func() (bool, any) {
		c := rotation(e)
		return len(c.LostRegistrations) == 0 && string(conversion(e, crd).Webhook.ClientConfig.CABundle) == string(e.servingCA()), c
	})
}

func refuse(e *env, crd string) (accept func()) {
	e.Helper()
	return deny(e, crd, admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apiextensions.k8s.io"}, APIVersions: []string{"*"}, Resources: []string{"customresourcedefinitions"}},
	}, "no change of this definition", func() error {
		_, err := extensions(e).ApiextensionsV1().CustomResourceDefinitions().Patch(e.ctx, crd, types.MergePatchType, []byte(`{"metadata": {"labels": {"tried": "true"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

func refuseDeletion(e *env, configuration string) (accept func()) {
	e.Helper()
	return deny(e, configuration, admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"admissionregistration.k8s.io"}, APIVersions: []string{"*"}, Resources: []string{"validatingwebhookconfigurations"}},
	}, "no deletion of this configuration", func() error {
		return e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(e.ctx, configuration, metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	})
}

// deny has an admission policy refuse writes to one object, until it is asked not to. tried is such a write.
func deny(e *env, object string, writes admissionregistrationv1.RuleWithOperations, message string, tried func() error) (accept func()) {
	e.Helper()
	remove := addValidatingPolicy(e, e.namespace, admissionregistrationv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
			ResourceNames: []string{object}, RuleWithOperations: writes,
		}}},
		Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: message}},
	})
	e.eventually(object+" cannot be written", func() (bool, any) {
		err := tried()
		return apierrors.IsInvalid(err) || apierrors.IsForbidden(err), err
	})
	return sync.OnceFunc(func() {
		e.Helper()
		remove()
		e.eventually(object+" can be written", func() (bool, any) {
			err := tried()
			return err == nil || apierrors.IsNotFound(err), err
		})
	})
}
