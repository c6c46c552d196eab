package integration

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// Two descriptions with one containerPort and two targetPorts need two ports of the Service, with different numbers.
func TestOneContainerPortWithTwoTargetPorts(t *testing.T) {
	e := newOperatorEnv(t)
	e.manage()
	c := csv("operator.v1", "server")
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("w.example.com", "server"))
	targets := []intstr.IntOrString{intstr.FromInt32(9443), intstr.FromString("webhooks")}
	for i := range targets {
		c.Spec.WebhookDefinitions[i].TargetPort = &targets[i]
	}
	e.install(c)

	service := kube.Get(e, e.kube.CoreV1().Services(e.namespace), "server-service")
	for i, name := range []string{"v.example.com", "w.example.com"} {
		port := *e.registration(name).Webhooks[0].ClientConfig.Service.Port
		found := slices.IndexFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
		if found < 0 || service.Spec.Ports[found].TargetPort != targets[i] {
			t.Errorf("webhook %s is called on port %d of %+v, want one with target %s", name, port, service.Spec.Ports, targets[i].String())
		}
	}
}

func authorsService(e *env, name string) *corev1.Service {
	e.Helper()
	service := kube.Create(e, e.kube.CoreV1().Services(e.namespace), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "server"}, Ports: []corev1.ServicePort{{Port: 8080}}},
	})
	return service
}

// An author's own Service keeps its name and its shape; the webhook has another.
func TestAuthorsServiceHasTheName(t *testing.T) {
	e := newOperatorEnv(t)
	services, theirs := e.kube.CoreV1().Services(e.namespace), authorsService(e, "server-service")
	m := runOperator(e)

	called := e.registration("v.example.com").Webhooks[0].ClientConfig.Service.Name
	ours := kube.Get(e, services, called)
	if called == theirs.Name || ours.Spec.Ports[0].Port != 443 {
		t.Errorf("the webhook is called at %s, which has the ports %+v", called, ours.Spec.Ports)
	}
	same(t, "the Secret that the pods serve from", mountedSecret(e.deployment("server").Spec.Template.Spec), called+"-cert")

	for _, o := range e.owned(derived) {
		if strings.HasPrefix(o.GetName(), theirs.Name) {
			t.Errorf("%s %s is useless", o.GetKind(), o.GetName())
		}
	}

	m.stop()
	e.manage().looksAgain("operator.v1")
	same(t, "the Service that is called after a restart", e.registration("v.example.com").Webhooks[0].ClientConfig.Service.Name, called)
	same(t, "resourceVersion of the author's Service", kube.Get(e, services, theirs.Name).ResourceVersion, theirs.ResourceVersion)
}

// The API server accepts a variable or a port twice in a Deployment, but not in an
// apply; what is written over and over would roll the pods for ever.
func TestDuplicatesInADeployment(t *testing.T) {
	e := newOperatorEnv(t)
	m := e.manage()
	c := csv("operator.v1", "server")
	container(c).Env = []corev1.EnvVar{{Name: "VARIABLE", Value: "1"}}
	container(c).Ports = []corev1.ContainerPort{{Name: "port", ContainerPort: 8080, Protocol: corev1.ProtocolTCP}}
	e.install(c)
	installed := e.deployment("server")
	edited := installed.DeepCopy()
	server := &edited.Spec.Template.Spec.Containers[0]
	server.Env = append(server.Env, corev1.EnvVar{Name: "VARIABLE", Value: "2"})
	server.Ports = append(server.Ports, corev1.ContainerPort{Name: "again", ContainerPort: 8080, Protocol: corev1.ProtocolTCP})
	kube.Update(e, e.kube.AppsV1().Deployments(e.namespace), edited)
	becomes(e, "the Deployment is as it was", func() appsv1.DeploymentSpec { return e.deployment("server").Spec }, installed.Spec)
	e.succeeds("operator.v1")
	m.looksAgain("operator.v1")
	same(t, "repairs", e.deployment("server").Generation-installed.Generation-1, 1)
}
