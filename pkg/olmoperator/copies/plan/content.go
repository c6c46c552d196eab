// Package plan decides which copies of ClusterServiceVersions (CSVs) exist in target namespaces, and what they contain.
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// componentLabels is the prefix of the labels by which an Operator selects its objects. A copy is none of them.
const componentLabels = "operators.coreos.com/"

// Metadata returns the labels and annotations of a copy, without the state. They are those of OLM v0.
func Metadata(original metav1.Object) metav1.ObjectMeta {
	labels, annotations := map[string]string{}, map[string]string{}
	maps.Copy(labels, original.GetLabels())
	maps.Copy(annotations, original.GetAnnotations())
	maps.DeleteFunc(labels, func(key, _ string) bool {
		return strings.HasPrefix(key, componentLabels) || key == wellknown.LabelTakeover
	})
	maps.DeleteFunc(annotations, func(key, _ string) bool {
		return key == wellknown.AnnotationTargetNamespaces || key == corev1.LastAppliedConfigAnnotation || strings.HasPrefix(key, wellknown.AnnotationPrefix)
	})
	labels[operatorsv1alpha1.CopiedLabelKey] = original.GetNamespace()
	return metav1.ObjectMeta{Name: original.GetName(), Labels: labels, Annotations: annotations}
}

// Status returns the status of a copy, with OLM v0's reason and message.
func Status(original *operatorsv1alpha1.ClusterServiceVersion) operatorsv1alpha1.ClusterServiceVersionStatus {
	status := original.Status
	status.Reason = operatorsv1alpha1.CSVReasonCopied
	status.Message = fmt.Sprintf("The operator is running in %s but is managing this namespace", original.Namespace)
	return status
}

// State identifies what a copy contains, without reading the copy.
type State struct {
	// Content is a hash of metadata and spec.
	Content string
	// Status is a hash of the status.
	Status string
}

// StateOf returns the state of the copies of an original. The generation stands for the spec, of which caches keep a part.
func StateOf(original *operatorsv1alpha1.ClusterServiceVersion) State {
	return State{
		Content: hash([]any{original.UID, original.Generation, Metadata(original)}),
		Status:  hash(Status(original)),
	}
}

// String is the value of the annotation of a copy.
func (s State) String() string { return s.Content + "." + s.Status }

// ParseState returns the state in an annotation. A value that the manager did not write equals no state.
func ParseState(annotation string) State {
	content, status, _ := strings.Cut(annotation, ".")
	return State{Content: content, Status: status}
}

func hash(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the values were decoded from JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}
