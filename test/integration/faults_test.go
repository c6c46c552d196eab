package integration

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Two descriptions with one containerPort and two targetPorts need two ports of the
// Service, for a Service has each number once.
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
			t.Errorf("%s %s is of no use", o.GetKind(), o.GetName())
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
