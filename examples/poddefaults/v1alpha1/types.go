// Package v1alpha1 is the API of PodDefaults, as Kubeflow has it.
//
// +groupName=kubeflow.org
package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

//go:generate go tool -modfile=../../../hack/tools/crd/go.mod controller-gen crd:maxDescLen=0 paths=. output:crd:dir=../bundle/manifests

// Resource identifies PodDefaults in the API.
var Resource = schema.GroupVersionResource{Group: "kubeflow.org", Version: "v1alpha1", Resource: "poddefaults"}

// PodDefault is what pods of its namespace get when they are created: those whose labels
// its selector matches.
//
// The name is part of the key of an annotation, which leaves it 52 characters.
//
// +kubebuilder:resource:path=poddefaults,singular=poddefault
// +kubebuilder:printcolumn:name=Description,type=string,JSONPath=.spec.desc
// +kubebuilder:printcolumn:name=Age,type=date,JSONPath=.metadata.creationTimestamp
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52",message="metadata.name must be no more than 52 characters: it becomes part of an annotation's key"
type PodDefault struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              PodDefaultSpec `json:"spec"`
}

// PodDefaultSpec is what a pod gets, and which pods do.
type PodDefaultSpec struct {
	// Selector is matched against the labels of the pod; an empty one matches all pods.
	Selector metav1.LabelSelector `json:"selector"`
	// Desc describes what the PodDefault is for.
	Desc string `json:"desc,omitempty"`
	// Labels and Annotations are added to the pod.
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// ServiceAccountName replaces the pod's.
	ServiceAccountName string `json:"serviceAccountName,omitempty"`
	// AutomountServiceAccountToken replaces the pod's.
	AutomountServiceAccountToken *bool `json:"automountServiceAccountToken,omitempty"`

	// The next five are appended to lists of the pod, where they are not there already.

	// Volumes is merged by name.
	// +listType=map
	// +listMapKey=name
	Volumes []corev1.Volume `json:"volumes,omitempty"`
	// Tolerations is merged by key.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// ImagePullSecrets is merged by name.
	// +listType=map
	// +listMapKey=name
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// InitContainers is merged by name.
	// +listType=map
	// +listMapKey=name
	InitContainers []corev1.Container `json:"initContainers,omitempty"`
	// Sidecars is merged, by name, into the pod's containers.
	// +listType=map
	// +listMapKey=name
	Sidecars []corev1.Container `json:"sidecars,omitempty"`

	// The next three are appended to lists of each of the pod's own containers.

	// Env is merged by name.
	// +listType=map
	// +listMapKey=name
	Env []corev1.EnvVar `json:"env,omitempty"`
	// EnvFrom is appended as it is.
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// VolumeMounts is merged by name, with one mount for each path.
	// +listType=map
	// +listMapKey=mountPath
	VolumeMounts []corev1.VolumeMount `json:"volumeMounts,omitempty"`
	// Command and Args are given to each of the pod's own containers that has none.
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
}
