package bundle

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// appliedMetadata has creationTimestamp because generators write it; it is removed later.
var appliedMetadata = []string{"name", "namespace", "labels", "annotations", "creationTimestamp"}

// annotationsOfAuthors describe the webhooks of a ClusterServiceVersion, and so belong to its author.
var annotationsOfAuthors = []string{wellknown.AnnotationMatchConditions, wellknown.AnnotationProbe, wellknown.AnnotationSecurityCritical}

// scopeOfCSV are the annotations and the label by which a ClusterServiceVersion states its OperatorGroup, or that it is
// a copy of one in another namespace. A manager does not install a copy, and an upgrade does not see it.
var scopeOfCSV = []string{
	operatorsv1.OperatorGroupAnnotationKey, operatorsv1.OperatorGroupNamespaceAnnotationKey,
	operatorsv1.OperatorGroupTargetsAnnotationKey, operatorsv1alpha1.CopiedLabelKey,
}

// dropClusterMetadata removes and reports the other fields of metadata: an author cannot know which controller of a
// cluster removes a finalizer, or the uid of an owner. The garbage collector deletes an object with an unknown owner.
func (r *reader) dropClusterMetadata(o *Object) {
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, field := range slices.Sorted(maps.Keys(metadata)) {
		if slices.Contains(appliedMetadata, field) {
			continue
		}
		if metadata[field] != nil {
			r.addFieldProblem(UnknownField, o, keyPath{"metadata", field}.String(), "is not taken from a bundle: the cluster that an object is in sets it", "remove it")
		}
		delete(metadata, field)
	}
	for _, field := range []string{"annotations", "labels"} {
		pairs, _ := metadata[field].(map[string]any)
		for _, path := range removeInstructions(groupkind.Of(o), field, pairs) {
			r.addFieldProblem(UnknownField, o, path, notTaken, "remove it")
		}
	}
}

const notTaken = "is not taken from a bundle: administrators and the manager set it"

// removeInstructions removes the labels or annotations that are instructions of an administrator to the manager, or its
// records, and returns their paths. A bundle could otherwise allow the manager to end a conversion that objects need,
// replace the list of the versions in which objects may be stored, or hide its ClusterServiceVersion from the manager.
func removeInstructions[V any](kind schema.GroupKind, field string, pairs map[string]V) []string {
	var removed []string
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		if isInstruction(kind, field, key) {
			removed = append(removed, keyPath{"metadata", field, key}.String())
			delete(pairs, key)
		}
	}
	return removed
}

func isInstruction(kind schema.GroupKind, field, key string) bool {
	if kind != groupkind.ClusterServiceVersion {
		return strings.HasPrefix(key, wellknown.AnnotationPrefix)
	}
	ofAuthor := field == "annotations" && slices.Contains(annotationsOfAuthors, key)
	return strings.HasPrefix(key, wellknown.AnnotationPrefix) && !ofAuthor || slices.Contains(scopeOfCSV, key)
}
