package integration

import (
	"bytes"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// A webhook that is to be served by another Deployment is called at the old one until the new one
// is available. Until then its policy, its caBundle and its certificate are looked after there.
func TestWebhookThatMovesIsMaintained(t *testing.T) {
	for name, move := range map[string]func(*env){
		"by an edit": func(e *env) {
			e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []operatorsv1alpha1.StrategyDeploymentSpec{deploymentSpec("other")}
				c.Spec.WebhookDefinitions[0].DeploymentName = "other"
			})
		},
		"by an upgrade": func(e *env) {
			e.create(replacing("operator.v1", csv("operator.v2", "other")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t, "other")
			runOperator(e)
			before := e.registration("v.example.com")
			move(e)
			e.eventually("the other Deployment exists", func() (bool, any) { d := e.deployment("other"); return d != nil, d })

			weaken := []byte(`[{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}, {"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]`)
			_, err := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(e.ctx, before.Name, types.JSONPatchType, weaken, metav1.PatchOptions{FieldManager: "administrator"})
			e.must(err)
			isCalled := func(ca []byte) (bool, any) {
				w := e.registration("v.example.com").Webhooks[0]
				return *w.FailurePolicy == admissionregistrationv1.Fail && bytes.Equal(w.ClientConfig.CABundle, ca) && w.ClientConfig.Service.Name == "server-service", w
			}
			e.eventually("its policy and its caBundle are back", func() (bool, any) { return isCalled(before.Webhooks[0].ClientConfig.CABundle) })

			lost := e.servingCA()
			e.must(e.kube.CoreV1().Secrets(e.namespace).Delete(e.ctx, servingSecret, metav1.DeleteOptions{}))
			e.eventually("the old Deployment has another certificate, which alone is trusted", func() (bool, any) {
				ca := e.servingCA()
				ok, seen := isCalled(ca)
				return ok && len(ca) > 0 && !bytes.Equal(ca, lost), seen
			})

			setAvailable(e, "other", true)
			e.eventually("it is called at the new Deployment", func() (bool, any) {
				w := e.registration("v.example.com").Webhooks[0]
				return w.ClientConfig.Service.Name == "other-service" && bytes.Equal(w.ClientConfig.CABundle, caOf(e, "other-service-cert")), w.ClientConfig.Service
			})
		})
	}
}

// What an upgrade has not adopted yet keeps the certificate of the Deployment that serves it also
// while the newer version, which declares it for another Deployment, is held.
func TestUpgradeThatIsHeldKeepsWhatIsServed(t *testing.T) {
	for name, hold := range map[string]func(*env){
		"by another group": func(e *env) { e.group("second", allNamespaces) },
		"by a requirement": func(e *env) {
			e.edit("operator.v2", func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.CustomResourceDefinitions.Required = []operatorsv1alpha1.CRDDescription{{Name: "nothings.absent.example.com", Version: "v1", Kind: "Nothing"}}
			})
		},
		"by a mistake": func(e *env) {
			e.edit("operator.v2", func(c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].Rules[0].APIGroups = []string{"*"}
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t, "after")
			m := e.manage()
			v1, v2 := csv("operator.v1", "before"), csv("operator.v2", "after")
			v1.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{webhook("moved.example.com", "before")}
			v2.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{webhook("moved.example.com", "after")}
			v2.Spec.Replaces = "operator.v1"
			e.install(v1)
			e.create(v2)
			e.eventually("the newer version has begun", func() (bool, any) { d := e.deployment("after"); return d != nil, d })
			hold(e)
			m.looksAgain("operator.v2")

			verified := func() (bool, any) {
				w, ca := e.registration("moved.example.com").Webhooks[0], caOf(e, "before-service-cert")
				return w.ClientConfig.Service.Name == "before-service" && len(ca) > 0 && bytes.Contains(w.ClientConfig.CABundle, ca), w.ClientConfig
			}
			if ok, seen := verified(); !ok {
				t.Errorf("it is called with a caBundle that does not verify its pods: %v", seen)
			}
			e.must(e.kube.CoreV1().Secrets(e.namespace).Delete(e.ctx, "before-service-cert", metav1.DeleteOptions{}))
			e.eventually("its pods have another certificate, which is trusted", verified)
		})
	}
}
