// Package merge decides which PodDefaults apply to a pod, and applies them. It is pure.
package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
)

const (
	annotationPrefix = "poddefault.admission.kubeflow.org/"

	// ExcludeAnnotation excludes a pod from all PodDefaults if its value is "true".
	ExcludeAnnotation = annotationPrefix + "exclude"
)

// AppliedAnnotation returns the key of an annotation with the resourceVersion of an applied PodDefault.
func AppliedAnnotation(name string) string { return annotationPrefix + "poddefault-" + name }

// Selectable is a PodDefault with a parsed selector.
type Selectable struct {
	podDefault *v1alpha1.PodDefault
	selector   labels.Selector
}

// Compile parses the selector of a PodDefault.
func Compile(d *v1alpha1.PodDefault) (*Selectable, error) {
	selector, err := metav1.LabelSelectorAsSelector(&d.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("spec.selector: %w", err)
	}
	return &Selectable{podDefault: d, selector: selector}, nil
}

// Select returns the PodDefaults of a pod, sorted by name. requestNamespace is for pods without namespace.
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

// Names returns the names of PodDefaults, separated by commas.
func Names(podDefaults []*v1alpha1.PodDefault) string {
	var names []string
	for _, d := range podDefaults {
		names = append(names, d.Name)
	}
	return strings.Join(names, ",")
}

// isExempt includes mirror pods: the kubelet does not read changes of them.
func isExempt(pod *corev1.Pod) bool {
	_, isMirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return isMirror || pod.Annotations[ExcludeAnnotation] == "true"
}
