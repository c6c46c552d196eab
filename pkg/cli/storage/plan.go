// Package storage rewrites the objects of a CustomResourceDefinition in one version, so that the others can be removed
// without a loss. What to do next is a pure function of the definition and of what this run has done itself (next).
// What other clients have done is no proof (pkg/apis/storedversions).
package storage

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// step is what a migration has to do next. A step writes to the definition at most once.
type step string

const (
	// record precedes everything after which status.storedVersions may be wrong.
	record step = "record the versions in which objects may be stored"
	// restore writes them to status.storedVersions, from which another client has removed some.
	restore    step = "restore status.storedVersions"
	setStorage step = "make it the storage version"
	rewrite    step = "rewrite all objects"
	trim       step = "remove the other versions from status.storedVersions"
	complete   step = "delete the record of the migration"
	done       step = "done"
)

// revision identifies the spec of a definition, which decides how objects are converted and stored.
type revision struct {
	uid        types.UID
	generation int64
}

func revisionOf(crd *apiextensionsv1.CustomResourceDefinition) revision {
	return revision{crd.UID, crd.Generation}
}

// next returns the next step. This run has rewritten every object under the revision rewritten.
func next(crd *apiextensionsv1.CustomResourceDefinition, to string, rewritten revision) (step, error) {
	if err := Check(crd, to); err != nil {
		return "", err
	}
	_, recorded := crd.Annotations[wellknown.AnnotationStoredVersions]
	recordedVersions := sets.New(storedversions.Recorded(crd)...)
	only := storedversions.Only(crd, to) && Stored(crd) == to
	switch possible := storedversions.Possible(crd); {
	case rewritten == revisionOf(crd):
		return finish(crd, to), nil
	case only && !recorded:
		return done, nil
	case !recordedVersions.HasAll(append(possible, to)...):
		return record, nil
	case !sets.New(crd.Status.StoredVersions...).Insert(to).HasAll(possible...):
		return restore, nil
	case Stored(crd) != to:
		return setStorage, nil
	default:
		return rewrite, nil
	}
}

func finish(crd *apiextensionsv1.CustomResourceDefinition, to string) step {
	_, recorded := crd.Annotations[wellknown.AnnotationStoredVersions]
	switch {
	case !slices.Equal(crd.Status.StoredVersions, []string{to}), storedversions.Migrated(crd):
		return trim
	case recorded:
		return complete
	default:
		return done
	}
}

// Check returns why the objects of a definition cannot be stored in a version, and the next step.
func Check(crd *apiextensionsv1.CustomResourceDefinition, to string) error {
	wanted := versionOf(crd, to)
	switch {
	case crd.DeletionTimestamp != nil:
		return fmt.Errorf("%s is being deleted", crd.Name)
	case wanted.Name == "":
		return fmt.Errorf("%s has no version %s: name one of %s with --to", crd.Name, to, strings.Join(versions(crd), ", "))
	case !wanted.Served:
		return fmt.Errorf("%s does not serve version %s: set served to true in spec.versions, it has to be read and written", crd.Name, to)
	}
	for _, stored := range storedversions.Possible(crd) {
		if stored == to {
			continue
		}
		if err := convertible(crd, stored, to); err != nil {
			return err
		}
	}
	return nil
}

// convertible is an error when objects would lose fields: without a webhook, the API server drops what a version lacks.
func convertible(crd *apiextensionsv1.CustomResourceDefinition, from, to string) error {
	a, b := versionOf(crd, from), versionOf(crd, to)
	if a.Name == "" {
		return fmt.Errorf("%s may have objects stored in %s (status.storedVersions or annotation "+wellknown.AnnotationStoredVersions+"), which is not in spec.versions: add it, they cannot be read without", crd.Name, from)
	}
	conversion := crd.Spec.Conversion
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter {
		if equality.Semantic.DeepEqual(a.Schema, b.Schema) {
			return nil
		}
		return fmt.Errorf("%s has the conversion None, and %s and %s have different schemas: install the operator that brings its conversion webhook first, objects would lose fields", crd.Name, from, to)
	}
	if client := conversion.Webhook.ClientConfig; client == nil || len(client.CABundle) == 0 && client.Service != nil {
		return fmt.Errorf("the conversion webhook of %s has no caBundle, so it is not in service yet: wait until its ClusterServiceVersion is Succeeded", crd.Name)
	}
	return nil
}

// Stored is the version in which a definition's objects are written.
func Stored(crd *apiextensionsv1.CustomResourceDefinition) string {
	version, _ := apihelpers.GetCRDStorageVersion(crd) // A definition that the API server stores has one.
	return version
}

// Hash is how discovery names the storage version of a resource. Clients may only compare it.
func Hash(crd *apiextensionsv1.CustomResourceDefinition, version string) string {
	sum := sha256.Sum256([]byte(crd.Spec.Group + "/" + version + "/" + crd.Spec.Names.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

func versionOf(crd *apiextensionsv1.CustomResourceDefinition, name string) apiextensionsv1.CustomResourceDefinitionVersion {
	return lists.First(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
}

func versions(crd *apiextensionsv1.CustomResourceDefinition) []string {
	return lists.Map(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) string { return v.Name })
}
