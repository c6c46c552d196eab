package render

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

// configured is the pod, under some config, of a Deployment with containers manager and sidecar, init container init.
func configured(t *testing.T, config operatorsv1alpha1.SubscriptionConfig, author func(*corev1.PodSpec)) corev1.PodSpec {
	t.Helper()
	spec := installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) {
		pod := &d.Template.Spec
		pod.InitContainers = []corev1.Container{{Name: "init"}}
		pod.Containers = append(pod.Containers, corev1.Container{Name: "sidecar"})
		author(pod)
	})
	in := inputOf(installtest.Operator(installtest.Deployments(spec)))
	in.Config = subscriptions.Config{Subscription: "shop", SubscriptionConfig: config}
	return rendered(t, in).Object.Spec.Template.Spec
}

func TestConfiguredContainers(t *testing.T) {
	few, many := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("9")}
	source := func(name string) corev1.EnvFromSource { return corev1.EnvFromSource{Prefix: name} }
	pod := configured(t, operatorsv1alpha1.SubscriptionConfig{
		Env:          []corev1.EnvVar{{Name: "A", Value: "admin"}, {Name: "B", Value: "admin"}, {Name: "OPERATOR_CONDITION_NAME", Value: "admin"}},
		EnvFrom:      []corev1.EnvFromSource{source("both"), source("admin")},
		VolumeMounts: []corev1.VolumeMount{{Name: "v", MountPath: "/admin"}, {Name: "w", MountPath: "/w"}, {Name: "mine", MountPath: installtest.WebhookCert}},
		Resources:    &corev1.ResourceRequirements{Limits: many},
	}, func(pod *corev1.PodSpec) {
		c := &pod.Containers[0]
		c.Env = []corev1.EnvVar{{Name: "A", Value: "author"}, {Name: "C", Value: "author"}}
		c.EnvFrom = []corev1.EnvFromSource{source("both")}
		c.VolumeMounts = []corev1.VolumeMount{{Name: "v", MountPath: "/author", ReadOnly: true}}
		c.Resources = corev1.ResourceRequirements{Requests: few, Limits: few}
	})
	condition := corev1.EnvVar{Name: "OPERATOR_CONDITION_NAME", Value: "shop.v1"}
	mounts := []corev1.VolumeMount{{Name: "v", MountPath: "/admin"}, {Name: "w", MountPath: "/w"}}
	want := []corev1.Container{
		{
			Name: "manager", Image: "shop:1", Env: []corev1.EnvVar{{Name: "A", Value: "admin"}, {Name: "C", Value: "author"}, {Name: "B", Value: "admin"}, condition},
			EnvFrom: []corev1.EnvFromSource{source("both"), source("admin")}, VolumeMounts: mounts, Resources: corev1.ResourceRequirements{Limits: many},
		},
		{
			Name: "sidecar", Env: []corev1.EnvVar{{Name: "A", Value: "admin"}, {Name: "B", Value: "admin"}, condition},
			EnvFrom: []corev1.EnvFromSource{source("both"), source("admin")}, VolumeMounts: mounts, Resources: corev1.ResourceRequirements{Limits: many},
		},
	}
	installtest.Same(t, "containers", want, pod.Containers)
	installtest.Same(t, "init containers", []corev1.Container{{Name: "init"}}, pod.InitContainers)
}

func TestConfiguredPod(t *testing.T) {
	tolerate := func(key string) corev1.Toleration { return corev1.Toleration{Key: key} }
	pod := configured(t, operatorsv1alpha1.SubscriptionConfig{
		Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"nobody": "asks"}},
		NodeSelector: map[string]string{"kind": "infra"},
		Tolerations:  []corev1.Toleration{tolerate("both"), tolerate("admin")},
		Volumes:      []corev1.Volume{installtest.Secret("v", "admin"), installtest.Secret("w", "admin"), installtest.Secret("webhook-cert", "admin")},
	}, func(pod *corev1.PodSpec) {
		pod.NodeSelector = map[string]string{"arch": "amd64"}
		pod.Tolerations = []corev1.Toleration{tolerate("author"), tolerate("both")}
		pod.Volumes = []corev1.Volume{installtest.Secret("v", "author"), installtest.Secret("u", "author")}
	})
	installtest.Same(t, "nodeSelector", map[string]string{"kind": "infra"}, pod.NodeSelector)
	installtest.Same(t, "tolerations", []corev1.Toleration{tolerate("author"), tolerate("both"), tolerate("admin")}, pod.Tolerations)
	installtest.Same(t, "volumes", []corev1.Volume{installtest.Secret("v", "admin"), installtest.Secret("u", "author"), installtest.Secret("w", "admin")}, pod.Volumes)
}

func TestConfiguredAffinity(t *testing.T) {
	node := func(key string) *corev1.NodeAffinity {
		return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: key}}}},
		}}
	}
	near := &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "zone"}}}
	apart := &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: "host"}}}
	for name, test := range map[string]struct{ author, admin, want *corev1.Affinity }{
		"none":                {nil, nil, nil},
		"the author's alone":  {&corev1.Affinity{NodeAffinity: node("author")}, nil, &corev1.Affinity{NodeAffinity: node("author")}},
		"the admin's alone":   {nil, &corev1.Affinity{PodAffinity: near}, &corev1.Affinity{PodAffinity: near}},
		"each its attributes": {&corev1.Affinity{NodeAffinity: node("author"), PodAntiAffinity: apart}, &corev1.Affinity{NodeAffinity: node("admin"), PodAffinity: near}, &corev1.Affinity{NodeAffinity: node("admin"), PodAffinity: near, PodAntiAffinity: apart}},
		"one erased":          {&corev1.Affinity{NodeAffinity: node("author"), PodAntiAffinity: apart}, &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}, &corev1.Affinity{PodAntiAffinity: apart}},
		"the last erased":     {&corev1.Affinity{PodAntiAffinity: apart}, &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}}, nil},
		"all erased":          {&corev1.Affinity{NodeAffinity: node("author"), PodAntiAffinity: apart}, &corev1.Affinity{}, nil},
		"nothing erased":      {nil, &corev1.Affinity{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pod := configured(t, operatorsv1alpha1.SubscriptionConfig{Affinity: test.admin}, func(pod *corev1.PodSpec) { pod.Affinity = test.author })
			installtest.Same(t, "affinity", test.want, pod.Affinity)
		})
	}
}

// Annotations reach all that is derived; what exists already wins, and instructions to the manager stay where they are.
func TestConfiguredAnnotations(t *testing.T) {
	spec := installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) { d.Template.Annotations = map[string]string{"author": "pod"} })
	conversion := installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
		d.Type, d.GenerateName, d.ConversionCRDs = operatorsv1alpha1.ConversionWebhook, "c.example.com", []string{"a.example.com"}
	})
	mutate := installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
		d.Type, d.GenerateName = installtest.Mutating, "m.example.com"
	})
	in := inputOf(installtest.Operator(installtest.Deployments(spec), installtest.ServedBy("manager"), mutate, conversion))
	in.CSV.Annotations = map[string]string{"csv": "csv"}
	in.Config = subscriptions.Config{Subscription: "shop", SubscriptionConfig: operatorsv1alpha1.SubscriptionConfig{Annotations: map[string]string{
		"admin": "admin", "author": "admin", "csv": "admin", "olm-webhook-manager.io/key-type": "rsa",
		"olm-webhook-manager.io/replicas": "9", "olm-webhook-manager.io/certificate-generation": "9",
		"olm-webhook-manager.io/certificate-provider": "none", "cert-manager.io/inject-ca-from": "shop/own",
	}}}
	d := rendered(t, in)
	admin := map[string]string{"admin": "admin", "author": "admin", "csv": "admin", "cert-manager.io/inject-ca-from": "shop/own"}
	generation := labels.Merge(admin, map[string]string{"olm-webhook-manager.io/certificate-generation": "3"})
	for what, annotations := range map[string]struct{ want, got map[string]string }{
		"the Deployment":               {labels.Merge(admin, map[string]string{"olm-webhook-manager.io/replicas": "1"}), d.Object.Annotations},
		"the Service":                  {admin, d.Service.Annotations},
		"the validating configuration": {generation, validatingOf(d.Webhooks[0]).Annotations},
		"the mutating configuration":   {generation, mutatingOf(d.Webhooks[1]).Annotations},
		"the definition":               {admin, d.Webhooks[2].Conversions[0].Annotations},
		"the pods": {map[string]string{
			"admin": "admin", "author": "pod", "csv": "csv", "olmcahash": "hash-of-ca",
			"olm.operatorGroup": "group", "olm.operatorNamespace": "shop", "olm.targetNamespaces": "",
		}, d.Object.Spec.Template.Annotations},
	} {
		installtest.Same(t, fmt.Sprintf("annotations of %s", what), annotations.want, annotations.got)
	}
}
