package integration

import (
	"crypto/ed25519"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func subscribe(e *env, config *operatorsv1alpha1.SubscriptionConfig) {
	e.Helper()
	kube.Create(e, e.olm.Subscriptions(e.namespace), &operatorsv1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Name: "operator"},
		Spec:       &operatorsv1alpha1.SubscriptionSpec{CatalogSource: "catalog", CatalogSourceNamespace: e.namespace, Package: "operator", StartingCSV: "operator.v1", Config: config},
	})
}

func reconfigure(e *env, change func(*operatorsv1alpha1.SubscriptionConfig)) {
	e.Helper()
	client := e.olm.Subscriptions(e.namespace)
	e.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		s, err := client.Get(e.ctx, "operator", metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(s.Spec.Config)
		_, err = client.Update(e.ctx, s, metav1.UpdateOptions{})
		return err
	}))
}

// The administrator's configuration reaches derived objects. A change rolls out, and what is no longer set is removed.
func TestSubscriptionConfig(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{
		Env:          []corev1.EnvVar{{Name: "HTTP_PROXY", Value: "proxy:3128"}},
		NodeSelector: map[string]string{"kind": "infra"},
		Tolerations:  []corev1.Toleration{{Key: "infra", Operator: corev1.TolerationOpExists}},
		Volumes:      []corev1.Volume{{Name: "webhook-cert", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
		Annotations:  map[string]string{"example.com/team": "red", "cert-manager.io/inject-ca-from": "a/b", "olm-webhook-manager.io/anything": "x"},
	})
	m := runOperator(e)

	pod := e.deployment("server").Spec.Template
	if env := pod.Spec.Containers[0].Env; env[0].Name != "HTTP_PROXY" || pod.Spec.NodeSelector["kind"] != "infra" || len(pod.Spec.Tolerations) != 1 {
		t.Errorf("the pod is not as it is configured: %+v", pod.Spec)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name == "webhook-cert" && (v.Secret == nil || v.Secret.SecretName != "server-service-cert") {
			t.Errorf("the certificate's volume is %+v", v)
		}
	}
	annotated(e, "red")
	m.emits("Warning ConfigRefused")
	refused := conditionIn(e.rollout("operator.v1").Conditions, "ConfigRefused")
	installtest.Contains(t, refused.Message, "spec.config.volumes[0] has the name webhook-cert", "has cert-manager.io/inject-ca-from")

	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) {
		*c = operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{"example.com/team": "blue"}}
	})
	comesToBear(e, "blue")
	same(t, "the nodeSelector", e.deployment("server").Spec.Template.Spec.NodeSelector, nil)
	e.succeeds("operator.v1")
	annotated(e, "blue")
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations = nil })
	e.eventually("the annotation no longer exists", func() (bool, any) {
		d := e.deployment("server")
		_, onPods := d.Spec.Template.Annotations["example.com/team"]
		_, onDeployment := d.Annotations["example.com/team"]
		_, onRegistration := e.registration("v.example.com").Annotations["example.com/team"]
		return !onPods && !onDeployment && !onRegistration, d.Annotations
	})
	becomes(e, "nothing is refused any more", func() metav1.Condition { return conditionIn(e.rollout("operator.v1").Conditions, "ConfigRefused") }, metav1.Condition{})
}

// annotated expects the team's annotation on all that is derived, and nothing else of it.
func annotated(e *env, team string) {
	e.Helper()
	for what, annotations := range annotations(e) {
		_, injected := annotations["cert-manager.io/inject-ca-from"]
		_, instructed := annotations["olm-webhook-manager.io/anything"]
		if annotations["example.com/team"] != team || injected || instructed {
			e.Errorf("the annotations of the %s are %v", what, annotations)
		}
	}
}

func comesToBear(e *env, team string) {
	e.Helper()
	e.eventually("all that is derived has "+team, func() (bool, any) {
		found := annotations(e)
		for _, annotations := range found {
			if annotations["example.com/team"] != team {
				return false, found
			}
		}
		return true, found
	})
}

func annotations(e *env) map[string]map[string]string {
	e.Helper()
	service := kube.Get(e, e.kube.CoreV1().Services(e.namespace), "server-service")
	deployment := e.deployment("server")
	return map[string]map[string]string{
		"Deployment": deployment.Annotations, "pod": deployment.Spec.Template.Annotations,
		"Service": service.Annotations, "registration": e.registration("v.example.com").Annotations,
	}
}

func conditionIn(conditions []metav1.Condition, kind string) metav1.Condition {
	for _, c := range conditions {
		if c.Type == kind {
			return c
		}
	}
	return metav1.Condition{}
}

// A converted definition has what is configured, as long as it is; what it has of its own stays as it was.
func TestSubscriptionAnnotatesDefinitions(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "labels", "v1", "v2")
	editCRD(e, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Annotations = map[string]string{"example.com/site": "own"}
	})
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{"example.com/team": "red", "example.com/site": "a", "olm-webhook-manager.io/anything": "x"}})
	e.manage()
	e.install(converting("operator.v1", crd.Name))
	definitionBears(e, crd.Name, map[string]string{"example.com/team": "red", "example.com/site": "own", "olm-webhook-manager.io/propagated-annotations": "example.com/team"})

	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations["example.com/team"] = "blue" })
	definitionBears(e, crd.Name, map[string]string{"example.com/team": "blue", "example.com/site": "own", "olm-webhook-manager.io/propagated-annotations": "example.com/team"})
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations = nil })
	definitionBears(e, crd.Name, map[string]string{"example.com/site": "own"})
}

func definitionBears(e *env, crd string, want map[string]string) {
	e.Helper()
	want["olm-webhook-manager.io/certificate-generation"] = "1"
	becomes(e, fmt.Sprintf("%s has %v", crd, want), func() map[string]string {
		return kube.Get(e, extensions(e).ApiextensionsV1().CustomResourceDefinitions(), crd).Annotations
	}, want)
}

// The administrator takes a webhook out of service and back, without a pod noticing.
func TestSwitchWebhookOff(t *testing.T) {
	e := newOperatorEnv(t)
	crd := newCRD(e, "switches", "v1", "v2")
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{})
	m := e.manage()
	c := converting("operator.v1", crd.Name)
	c.Spec.WebhookDefinitions[0].GenerateName = "c.example.com"
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, webhook("v.example.com", "server"), webhook("w.example.com", "server"))
	e.install(c)
	before := e.deployment("server").Generation

	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) {
		c.Annotations = map[string]string{"olm-webhook-manager.io/disabled-webhooks": "v.example.com,c.example.com,x.example.com"}
	})
	e.eventually("one webhook is off, one is on", func() (bool, any) {
		found := registered(e)
		_, on := found["w.example.com"]
		return len(found) == 1 && on, found
	})
	m.emits("Warning WebhookDisabled")
	e.eventually("the WebhookRollout reports it", func() (bool, any) {
		r := e.rollout("operator.v1")
		refused := conditionIn(r.Conditions, "ConfigRefused").Message
		return r.ReadyRegistrations == 2 && r.Registrations == 2 && webhookStatus(e, "operator.v1", "v.example.com").State == "Disabled" && webhookStatus(e, "operator.v1", "c.example.com").State == "Registered" &&
			strings.Contains(refused, `"x.example.com", which is no webhook`) && strings.Contains(refused, `"c.example.com", a conversion webhook, without which its objects could not be read`), r
	})
	e.succeeds("operator.v1")
	same(t, "the conversion strategy", conversion(e, crd.Name).Strategy, apiextensionsv1.WebhookConverter)
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations = nil })
	e.eventually("both are on", func() (bool, any) { return len(registered(e)) == 2, nil })
	e.succeeds("operator.v1")
	same(t, "the generation of the Deployment", e.deployment("server").Generation, before)
}

// Each field, with OLM v0's rule, in every container. The Subscription is found by what it reports as installed.
func TestSubscriptionConfigFieldByField(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	subscribeInstalled(e, "operator.v1", &operatorsv1alpha1.SubscriptionConfig{
		Env:     []corev1.EnvVar{{Name: "BOTH", Value: "admin"}, {Name: "ADMIN", Value: "admin"}},
		EnvFrom: []corev1.EnvFromSource{fromConfigMap("admin")}, Resources: new(memory("2Gi")),
		Volumes:      []corev1.Volume{configMapVolume("both", "admin"), configMapVolume("admin", "admin")},
		VolumeMounts: []corev1.VolumeMount{{Name: "both", MountPath: "/admin"}, {Name: "admin", MountPath: "/other"}},
		Tolerations:  []corev1.Toleration{{Key: "admin", Operator: corev1.TolerationOpExists}}, NodeSelector: map[string]string{"admin": "yes"},
		Affinity: &corev1.Affinity{PodAntiAffinity: spread("admin")}, Annotations: map[string]string{"example.com/who": "admin", "example.com/both": "admin"},
	})
	e.manage()
	e.install(configured())

	d := e.deployment("server")
	got := d.Spec.Template.Spec
	for _, container := range got.Containers {
		container.Env = slices.DeleteFunc(container.Env, func(v corev1.EnvVar) bool { return v.Name == "OPERATOR_CONDITION_NAME" })
		container.VolumeMounts = slices.DeleteFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return strings.HasSuffix(m.Name, "-cert") })
		same(e, "env of "+container.Name, container.Env, []corev1.EnvVar{{Name: "BOTH", Value: "admin"}, {Name: "AUTHOR", Value: "author"}, {Name: "ADMIN", Value: "admin"}})
		same(e, "envFrom of "+container.Name, container.EnvFrom, []corev1.EnvFromSource{fromConfigMap("author"), fromConfigMap("admin")})
		same(e, "resources of "+container.Name, container.Resources, memory("2Gi"))
		same(e, "volumeMounts of "+container.Name, container.VolumeMounts, []corev1.VolumeMount{{Name: "both", MountPath: "/admin"}, {Name: "author", MountPath: "/mine"}, {Name: "admin", MountPath: "/other"}})
	}
	got.Volumes = slices.DeleteFunc(got.Volumes, func(v corev1.Volume) bool { return strings.HasSuffix(v.Name, "-cert") })
	same(e, "volumes", got.Volumes, []corev1.Volume{configMapVolume("both", "admin"), configMapVolume("author", "author"), configMapVolume("admin", "admin")})
	same(e, "tolerations", got.Tolerations, []corev1.Toleration{{Key: "author", Operator: corev1.TolerationOpExists}, {Key: "admin", Operator: corev1.TolerationOpExists}})
	same(e, "nodeSelector", got.NodeSelector, map[string]string{"admin": "yes"})
	same(e, "affinity", got.Affinity, &corev1.Affinity{PodAntiAffinity: spread("admin"), PodAffinity: together("author")})
	for annotation, want := range map[string][]string{"example.com/who": {"admin", "admin"}, "example.com/both": {"admin", "author"}} {
		same(e, annotation+" of the Deployment and its pods", []string{d.Annotations[annotation], d.Spec.Template.Annotations[annotation]}, want)
	}
}

// A Subscription that names but the version before configures the one that replaces it, on its
// way, installed, and when only spec.replaces names the other any more.
func TestSubscriptionAlongReplaces(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", namespaces(e.namespace))
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{"example.com/team": "red"}})
	e.runDeployments("last")
	m := runOperator(e)
	e.create(replacing("operator.v1", csv("operator.v2", "server", "last")))
	has(e, "server", "operator.v2")
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	annotated(e, "red")
	rolledOut(e, "last", "operator.v2", true)
	e.succeeds("operator.v2")
	noLongerExist(e, "operator.v1")
	m.looksAgain("operator.v2")
	annotated(e, "red")
	reconfigure(e, func(c *operatorsv1alpha1.SubscriptionConfig) { c.Annotations["example.com/team"] = "blue" })
	comesToBear(e, "blue")
	becomes(e, "the config rolls out to the last", func() string { return e.deployment("last").Spec.Template.Annotations["example.com/team"] }, "blue")
	// The previous Succeeded is no answer: that of now comes after this.
	e.reaches("operator.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	setAvailable(e, "last", true)
	e.succeeds("operator.v2")
	annotated(e, "blue")
}

func subscribeInstalled(e *env, csv string, config *operatorsv1alpha1.SubscriptionConfig) {
	e.Helper()
	client := e.olm.Subscriptions(e.namespace)
	s := kube.Create(e, client, &operatorsv1alpha1.Subscription{
		ObjectMeta: named("another-name"),
		Spec:       &operatorsv1alpha1.SubscriptionSpec{CatalogSource: "catalog", CatalogSourceNamespace: e.namespace, Package: "operator", Config: config},
	})
	s.Status.InstalledCSV, s.Status.LastUpdated = csv, metav1.Now()
	kube.UpdateStatus(e, client, s)
}

// configured is an operator whose author has set everything that an administrator can.
func configured() *operatorsv1alpha1.ClusterServiceVersion {
	c := csv("operator.v1", "server")
	template := &c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template
	template.Annotations = map[string]string{"example.com/both": "author"}
	pod := &template.Spec
	pod.Containers = append(pod.Containers, corev1.Container{Name: "sidecar", Image: "example.com/sidecar:1"})
	for i := range pod.Containers {
		container := &pod.Containers[i]
		container.Env = []corev1.EnvVar{{Name: "BOTH", Value: "author"}, {Name: "AUTHOR", Value: "author"}}
		container.EnvFrom, container.Resources = []corev1.EnvFromSource{fromConfigMap("author")}, memory("1Gi")
		container.VolumeMounts = []corev1.VolumeMount{{Name: "both", MountPath: "/author"}, {Name: "author", MountPath: "/mine"}}
	}
	pod.Volumes = []corev1.Volume{configMapVolume("both", "author"), configMapVolume("author", "author")}
	pod.Tolerations = []corev1.Toleration{{Key: "author", Operator: corev1.TolerationOpExists}}
	pod.NodeSelector = map[string]string{"author": "yes"}
	pod.Affinity = &corev1.Affinity{PodAntiAffinity: spread("author"), PodAffinity: together("author")}
	return c
}

func memory(limit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)}}
}

func fromConfigMap(name string) corev1.EnvFromSource {
	return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
}

func configMapVolume(name, configMap string) corev1.Volume {
	return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: configMap}, DefaultMode: new(int32(0o644)),
	}}}
}

func spread(key string) *corev1.PodAntiAffinity {
	return &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: key}}}
}

func together(key string) *corev1.PodAffinity {
	return &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: key}}}
}

// What a Subscription chooses for its operator's certificate is served, and its risks are reported.
func TestCertificateAsTheSubscriptionChooses(t *testing.T) {
	e := newOperatorEnv(t)
	choose(e, managerv1alpha1.ProviderManager, wellknown.AnnotationCertificateKey, "ed25519", wellknown.AnnotationCertificateValidity, "240h")
	runOperator(e)
	leaf := servingCertificate(e).Leaf
	if _, ok := leaf.PublicKey.(ed25519.PublicKey); !ok {
		t.Errorf("the key is a %T, want Ed25519", leaf.PublicKey)
	}
	same(t, "the validity of the certificate", leaf.NotAfter.Sub(leaf.NotBefore), 240*time.Hour+certs.DefaultPolicy().ClockSkew)
	e.says("Ed25519 keys are refused by API servers and webhook servers that were built with a FIPS 140 module")
}

// An operator without webhooks is Succeeded before the manager has looked at another config,
// and while its pods are replaced: its Deployments report whether it has, to every reader.
func TestCommandsWaitForDeploymentsWithoutWebhooks(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{})
	m := e.manage()
	c := csv("operator.v1", "server")
	c.Spec.WebhookDefinitions = nil
	e.install(c)
	same(t, "the lag of an installed one", lag(e), nil)

	m.stop()
	reconfigure(e, func(config *operatorsv1alpha1.SubscriptionConfig) {
		config.Env = []corev1.EnvVar{{Name: "A", Value: "b"}}
	})
	e.succeeds("operator.v1")
	if lag := lag(e); lag == nil || !lag.Unobserved {
		t.Errorf("no manager has seen its config, and it lags: %+v", lag)
	}
	e.manage()
	e.eventually("it lags no more", func() (bool, any) { lag := lag(e); return lag == nil, lag })
	if env := e.deployment("server").Spec.Template.Spec.Containers[0].Env; len(env) == 0 || env[0].Name != "A" {
		t.Errorf("it has the variables %+v", env)
	}
}

func lag(e *env) *deploy.PendingDeployment {
	e.Helper()
	subscription := kube.Get(e, e.olm.Subscriptions(e.namespace), "operator")
	return deploy.FirstPendingDeployment(e.get("operator.v1"), subscription, map[string]*appsv1.Deployment{"server": e.deployment("server")})
}

// The watches of two kinds are not ordered: a ClusterServiceVersion can arrive before the Subscription that was created first.
func TestSubscriptionArrivesAfterItsVersion(t *testing.T) {
	e := newOwnNamespaceEnv(t)
	late := e.freezer("/subscriptions")
	m := manageThrough(e, late.config)
	e.groupIsReported()
	late.freeze()
	subscribe(e, &operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{wellknown.AnnotationCertificateProvider: "none"}})
	since := auditEnd(e)
	e.create(csv("operator.v1", "server"))
	e.eventually("the manager has reconciled it", func() (bool, any) { return m.passes("ClusterServiceVersion") > 1, nil })
	m.writesNothing(since)
	late.thaw()
	e.eventually("there is a Deployment", func() (bool, any) {
		_, err := e.kube.AppsV1().Deployments(e.namespace).Get(e.ctx, "server", metav1.GetOptions{})
		return err == nil, err
	})
	if _, err := e.kube.CoreV1().Secrets(e.namespace).Get(e.ctx, "server-service-cert", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the manager issued a certificate that the Subscription leaves to another client: %v", err)
	}
}
