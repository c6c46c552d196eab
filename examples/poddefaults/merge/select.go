// Package merge says which PodDefaults apply to a pod, and what the pod is with them. It
// is pure: values in, values out.
package merge

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
)

const (
	annotationPrefix = "poddefault.admission.kubeflow.org/"

	// ExcludeAnnotation is what keeps all PodDefaults away from a pod on which it is "true".
	ExcludeAnnotation = annotationPrefix + "exclude"
)

// AppliedAnnotation is the key of the annotation by which a pod shows that the PodDefault
// of this name was applied; its value is the PodDefault's resourceVersion.
func AppliedAnnotation(name string) string {
	return annotationPrefix + "poddefault-" + name
}

// Selectable is a PodDefault whose selector is ready to be matched.
type Selectable struct {
	podDefault *v1alpha1.PodDefault
	selector   labels.Selector
}

// Compile prepares a PodDefault for Select.
func Compile(d *v1alpha1.PodDefault) (*Selectable, error) {
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	return &Selectable{podDefault: d, selector: selector}, nil
}

// Select returns the PodDefaults that apply to a pod, in the order of their names, which
// is the one in which the API server lists them. The pod's namespace is the request's
// where the pod itself names none.
func Select(pod *corev1.Pod, requestNamespace string, all []*Selectable) []*v1alpha1.PodDefault {
	if isExempt(pod) {
		return nil
	}
	namespace := cmp.Or(pod.Namespace, requestNamespace)
	var selected []*v1alpha1.PodDefault
	for _, s := range all {
		if s.podDefault.Namespace == namespace && s.selector.Matches(labels.Set(pod.Labels)) {
			selected = append(selected, s.podDefault)
		}
	}
	slices.SortFunc(selected, func(a, b *v1alpha1.PodDefault) int { return cmp.Compare(a.Name, b.Name) })
	return selected
}

// isExempt is true of pods with the annotation that excludes them, and of mirror pods: these only show
// what a kubelet runs from its own files, and cannot change it.
func isExempt(pod *corev1.Pod) bool {
	_, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return isMirror || pod.Annotations[ExcludeAnnotation] == "true"
}
