package render

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// secretName is empty without a serving certificate.
func deployment(in Input, spec operatorsv1alpha1.StrategyDeploymentSpec, secretName string) *appsv1.Deployment {
	d := &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: csvspec.OwnedMeta(in.CSV, spec.Name),
		Spec:       *spec.Spec.DeepCopy(),
	}
	d.Labels = labels.Merge(spec.Label, d.Labels)
	d.Annotations = map[string]string{wellknown.AnnotationReplicas: strconv.Itoa(int(ptr.Deref(d.Spec.Replicas, 1)))}
	d.Spec.RevisionHistoryLimit = new(int32(1)) // an operator is rolled back by its CSV, not by its Deployment
	completePods(d, in, spec)
	if secretName != "" {
		mountCertificate(&d.Spec.Template.Spec, secretName)
	}
	if trust, ok := in.Trust[spec.Name]; ok {
		d.Spec.Template.Annotations[wellknown.AnnotationCAHash] = trust.CAHash
		if trust.RestartedFor != "" {
			d.Spec.Template.Annotations[wellknown.AnnotationRestartedFor] = trust.RestartedFor
		}
	}
	d.Labels[wellknown.LabelDeploymentHash] = hashOf(d.Spec)
	setReplicas(d, in.Config.Availability(in.CSV, spec))
	return d
}

// Pods returns the pod template of a Deployment as it is written, except for certificates.
func Pods(in Input, spec operatorsv1alpha1.StrategyDeploymentSpec) corev1.PodTemplateSpec {
	d := &appsv1.Deployment{Spec: *spec.Spec.DeepCopy()}
	completePods(d, in, spec)
	return d.Spec.Template
}

func completePods(d *appsv1.Deployment, in Input, spec operatorsv1alpha1.StrategyDeploymentSpec) {
	annotatePods(&d.Spec.Template, in)
	configure(d, in.Config)
	schedule(d, in.Config.Availability(in.CSV, spec))
	WriteOutListDefaults(&d.Spec.Template.Spec)
	nameOperatorCondition(&d.Spec.Template.Spec, in.CSV.Name)
}

// Operators read their scope in annotations of their pods. It comes from the OperatorGroup, because the CSV
// may not have its annotations yet. A change of the manager's and kubectl's annotations would restart the
// pods.
func annotatePods(pods *corev1.PodTemplateSpec, in Input) {
	annotations := labels.Merge(in.CSV.Annotations, in.Scope.Annotations())
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return strings.HasPrefix(key, wellknown.AnnotationPrefix) || key == corev1.LastAppliedConfigAnnotation
	})
	pods.Annotations = labels.Merge(pods.Annotations, annotations)
	pods.Labels = labels.Merge(pods.Labels, map[string]string{wellknown.LabelCSV: names.LabelValue(in.CSV.Name)})
}

func nameOperatorCondition(pod *corev1.PodSpec, csv string) {
	for i := range pod.Containers {
		container := &pod.Containers[i]
		variable := corev1.EnvVar{Name: wellknown.EnvOperatorConditionName, Value: csv}
		container.Env = replaceOrAppend(container.Env, variable, func(e corev1.EnvVar) bool { return e.Name == variable.Name })
	}
}

func replaceOrAppend[T any](items []T, item T, same func(T) bool) []T {
	if i := slices.IndexFunc(items, same); i >= 0 {
		items[i] = item
		return items
	}
	return append(items, item)
}
