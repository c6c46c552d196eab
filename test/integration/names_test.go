package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Names that fit into no Service's, or would share one, are made to fit and kept apart.
func TestDeploymentNames(t *testing.T) {
	long := strings.Repeat("long-", 20)
	for name, deployments := range map[string][]string{
		"with dots":                    {"a.server.with.dots"},
		"a dot and none":               {"a.b", "a-b"},
		"beyond a label":               {long + "name"},
		"the same as far as they fit":  {long + "one", long + "two"},
		"just fitting, and one beyond": {strings.Repeat("x", 55), strings.Repeat("x", 56)},
		"beginning with a digit":       {"3scale"},
		"a digit, and its replacement": {"3scale", "d-3scale"},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			e.manage()
			c := csv("operator.v1", deployments...)
			c.Spec.WebhookDefinitions = nil
			for i, d := range deployments {
				c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook(string(rune('a'+i))+".example.com", d))
			}
			e.install(c)

			services, secrets := sets.New[string](), sets.New[string]()
			for _, d := range c.Spec.WebhookDefinitions {
				service := kube.Get(e, e.kube.CoreV1().Services(e.namespace), e.registration(d.GenerateName).Webhooks[0].ClientConfig.Service.Name)
				want := deploymentSpec(d.DeploymentName).Spec.Selector.MatchLabels["app"]
				same(t, "the pods at which the webhook of "+d.DeploymentName+" is called", service.Spec.Selector["app"], want)
				services.Insert(service.Name)
				secrets.Insert(mountedSecret(e.deployment(d.DeploymentName).Spec.Template.Spec))
			}
			if services.Len() != len(deployments) || secrets.Len() != len(deployments) {
				t.Errorf("services %v, secrets %v, want one for each Deployment", sets.List(services), sets.List(secrets))
			}
		})
	}
}

func mountedSecret(pod corev1.PodSpec) string {
	for _, v := range pod.Volumes {
		if v.Name == "webhook-cert" && v.Secret != nil {
			return v.Secret.SecretName
		}
	}
	return ""
}

// A label has 63 characters, a ClusterServiceVersion's name 253: what is found by its
// labels has to be found, and gone at the end, all the same.
func TestLongClusterServiceVersionNames(t *testing.T) {
	e := newOperatorEnv(t)
	e.manage()
	prefix := strings.Repeat("operator-", 10)
	for i, name := range []string{prefix + "one.v1", prefix + "two.v1"} {
		c := csv(name, []string{"one", "two"}[i])
		c.Spec.WebhookDefinitions[0].GenerateName = "v" + c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name + ".example.com"
		e.install(c)
	}
	e.uninstall(prefix + "one.v1")
	if found := registered(e); len(found) != 1 || found["vtwo.example.com"].Name == "" {
		t.Errorf("registered after one of two no longer exists: %v", found)
	}
	e.uninstall(prefix + "two.v1")
	registersNothing(e)
}

func TestSameWebhookNameTwice(t *testing.T) {
	e := newOperatorEnv(t)
	e.manage()
	e.install(csv("one.v1", "one"))
	e.install(csv("two.v1", "two"))
	called := sets.New[string]()
	for _, o := range e.owned(clusterScoped) {
		called.Insert(o.GetName())
	}
	same(t, "the number of registrations", called.Len(), 2)
	e.uninstall("one.v1")
	same(t, "the owner of what is left", e.registration("v.example.com").Labels["olm.owner"], "two.v1")
	same(t, "the phase of the other", e.get("two.v1").Status.Phase, operatorsv1alpha1.CSVPhaseSucceeded)
}
