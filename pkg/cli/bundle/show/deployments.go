package show

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Deployment is a Deployment of the ClusterServiceVersion, or another object with pods, and what the pods reach on their node.
type Deployment struct {
	// Kind is empty for a Deployment of the ClusterServiceVersion.
	Kind       string   `json:"kind,omitempty"`
	Name       string   `json:"name"`
	Account    string   `json:"account"`
	Images     []string `json:"images"`
	HostAccess []string `json:"hostAccess"`
}

// workload has pods. Kind is empty for a Deployment of the ClusterServiceVersion.
type workload struct {
	kind, name string
	template   corev1.PodTemplateSpec
}

// work keeps an object of a bundle that has pods. Bundles may bring it with --allow-kind.
func (c *contents) work(kind, name string, typed any) bool {
	template := templateOf(typed)
	if template != nil {
		c.workloads = append(c.workloads, workload{kind, name, *template})
	}
	return template != nil
}

func templateOf(o any) *corev1.PodTemplateSpec {
	switch o := o.(type) {
	case *corev1.Pod:
		return &corev1.PodTemplateSpec{ObjectMeta: o.ObjectMeta, Spec: o.Spec}
	case *corev1.PodTemplate:
		return &o.Template
	case *corev1.ReplicationController:
		return cmp.Or(o.Spec.Template, &corev1.PodTemplateSpec{})
	case *appsv1.Deployment:
		return &o.Spec.Template
	case *appsv1.DaemonSet:
		return &o.Spec.Template
	case *appsv1.StatefulSet:
		return &o.Spec.Template
	case *appsv1.ReplicaSet:
		return &o.Spec.Template
	case *batchv1.Job:
		return &o.Spec.Template
	case *batchv1.CronJob:
		return &o.Spec.JobTemplate.Spec.Template
	default:
		return nil
	}
}

// pods yields all that has pods: the Deployments, with the config of the Subscription, and the objects of the bundle. Those
// of the Deployments are not kept: a bundle may have thousands.
func (c *contents) pods() iter.Seq[workload] {
	in := render.Input{
		CSV: c.csv, Scope: scope.Scope{Group: c.group, Namespaces: c.group.Spec.TargetNamespaces}, Config: subscriptions.ConfigOf(c.subscription),
	}
	return func(yield func(workload) bool) {
		for _, d := range c.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			if !yield(workload{name: d.Name, template: Pods(in, d)}) {
				return
			}
		}
		for _, w := range c.workloads {
			if !yield(w) {
				return
			}
		}
	}
}

// Pods returns the pods of a Deployment as the manager creates them, except for certificates, and for the name and the
// annotations of the ClusterServiceVersion that give no access to a node: both may be large, in thousands of Deployments.
func Pods(in render.Input, d operatorsv1alpha1.StrategyDeploymentSpec) corev1.PodTemplateSpec {
	csv := *in.CSV
	csv.Name, csv.Annotations = "", map[string]string{}
	pod := d.Spec.Template.Spec
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		key := corev1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + container.Name
		if profile, has := in.CSV.Annotations[key]; has {
			csv.Annotations[key] = profile
		}
	}
	in.CSV = &csv
	return render.Pods(in, d)
}

func (c *contents) deployments() []Deployment {
	var all []Deployment
	for w := range c.pods() {
		pod := w.template.Spec
		images := lists.Map(slices.Concat(pod.InitContainers, pod.Containers), func(c corev1.Container) string { return c.Image })
		all = append(all, Deployment{Kind: w.kind, Name: w.name, Account: csvspec.ServiceAccountOf(pod), Images: lists.Distinct(images), HostAccess: HostAccess(w.template)})
	}
	return byDanger(all, func(d Deployment) int { return len(d.HostAccess) })
}

func secretsOf(pod corev1.PodSpec) []string {
	var names []string
	add := func(_, kind, name string, _ *bool) {
		if kind == "Secret" {
			names = append(names, name)
		}
	}
	for _, v := range pod.Volumes {
		VolumeReferences("", v, add)
		names = append(names, secretsOfDriver(v.VolumeSource)...)
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		EnvironmentReferences("", container, add)
	}
	return lists.Distinct(names)
}

// VolumeReferences calls do for the Secrets and ConfigMaps that a volume has as its files.
func VolumeReferences(field string, v corev1.Volume, do func(field, kind, name string, optional *bool)) {
	switch {
	case v.Secret != nil:
		do(field, "Secret", v.Secret.SecretName, v.Secret.Optional)
	case v.ConfigMap != nil:
		do(field, "ConfigMap", v.ConfigMap.Name, v.ConfigMap.Optional)
	case v.Projected != nil:
		for i, p := range v.Projected.Sources {
			within := fmt.Sprintf("%s.projected.sources[%d]", field, i)
			if p.Secret != nil {
				do(within, "Secret", p.Secret.Name, p.Secret.Optional)
			}
			if p.ConfigMap != nil {
				do(within, "ConfigMap", p.ConfigMap.Name, p.ConfigMap.Optional)
			}
		}
	}
}

// EnvironmentReferences calls do for the Secrets and ConfigMaps that the environment of a container is read from.
func EnvironmentReferences(in string, c corev1.Container, do func(field, kind, name string, optional *bool)) {
	for i, e := range c.Env {
		field := fmt.Sprintf("%s.env[%d]", in, i)
		if from := e.ValueFrom; from != nil && from.SecretKeyRef != nil {
			do(field, "Secret", from.SecretKeyRef.Name, from.SecretKeyRef.Optional)
		} else if from != nil && from.ConfigMapKeyRef != nil {
			do(field, "ConfigMap", from.ConfigMapKeyRef.Name, from.ConfigMapKeyRef.Optional)
		}
	}
	for i, e := range c.EnvFrom {
		field := fmt.Sprintf("%s.envFrom[%d]", in, i)
		if e.SecretRef != nil {
			do(field, "Secret", e.SecretRef.Name, e.SecretRef.Optional)
		} else if e.ConfigMapRef != nil {
			do(field, "ConfigMap", e.ConfigMapRef.Name, e.ConfigMapRef.Optional)
		}
	}
}

// secretsOfDriver returns the Secrets with which the driver of a volume identifies itself.
func secretsOfDriver(v corev1.VolumeSource) []string {
	var names []string
	reads := func(ref *corev1.LocalObjectReference) {
		if ref != nil {
			names = append(names, ref.Name)
		}
	}
	switch {
	case v.AzureFile != nil:
		return []string{v.AzureFile.SecretName}
	case v.CSI != nil:
		reads(v.CSI.NodePublishSecretRef)
	case v.FlexVolume != nil:
		reads(v.FlexVolume.SecretRef)
	case v.ISCSI != nil:
		reads(v.ISCSI.SecretRef)
	case v.RBD != nil:
		reads(v.RBD.SecretRef)
	case v.CephFS != nil:
		reads(v.CephFS.SecretRef)
	case v.Cinder != nil:
		reads(v.Cinder.SecretRef)
	case v.ScaleIO != nil:
		reads(v.ScaleIO.SecretRef)
	case v.StorageOS != nil:
		reads(v.StorageOS.SecretRef)
	}
	return names
}

func claimsOf(pod corev1.PodSpec) []string {
	var names []string
	for _, v := range pod.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		}
	}
	return lists.Distinct(names)
}
