// Package storage rewrites the objects of a CustomResourceDefinition in one version, so
// that the others can go without a loss.
//
// What to do next is a pure function of the definition (Next); Migrate does it, through
// an interface to the cluster. Whatever was done before, by whomever, is not done
// again: a migration that was interrupted is begun anew, and finds little to write.
package storage

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Step is what a migration has to do next.
type Step string

// The steps, in their order. An object is rewritten only when every API server stores
// it in the version that is wanted, and a version is forgotten only when that is done.
const (
	// MakeStorage makes the version the one that is written.
	MakeStorage Step = "make it the storage version"
	// Rewrite writes every object again, after every API server knows the storage version.
	Rewrite Step = "rewrite all objects"
	// Done is when nothing is stored in another version.
	Done Step = "done"
)

// Next is the next step of a migration to a version. An error says why there must be
// none, and the way out.
func Next(crd *apiextensionsv1.CustomResourceDefinition, to string) (Step, error) {
	wanted := versionOf(crd, to)
	switch {
	case crd.DeletionTimestamp != nil:
		return "", fmt.Errorf("%s is being deleted", crd.Name)
	case wanted == nil:
		return "", fmt.Errorf("%s has no version %s: name one of %s with --to", crd.Name, to, strings.Join(versions(crd), ", "))
	case !wanted.Served:
		return "", fmt.Errorf("%s does not serve version %s: set served to true in spec.versions, it has to be read and written", crd.Name, to)
	case slices.Equal(crd.Status.StoredVersions, []string{to}) && wanted.Storage:
		return Done, nil
	}
	for _, stored := range crd.Status.StoredVersions {
		if stored == to {
			continue
		}
		if err := convertible(crd, stored, to); err != nil {
			return "", err
		}
	}
	if !wanted.Storage {
		return MakeStorage, nil
	}
	return Rewrite, nil
}

// convertible is an error when objects of one version cannot become another's without
// losing fields. Without a webhook the API server merely relabels them, and drops what
// the other version does not have.
func convertible(crd *apiextensionsv1.CustomResourceDefinition, from, to string) error {
	a, b := versionOf(crd, from), versionOf(crd, to)
	if a == nil {
		return fmt.Errorf("%s has objects stored in %s (status.storedVersions), which is not in spec.versions: add it, they cannot be read without", crd.Name, from)
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
	for _, v := range crd.Spec.Versions {
		if v.Storage {
			return v.Name
		}
	}
	return ""
}

// Hash is what discovery says of a resource that is stored in a version: API servers say
// it in this way only, and clients may compare.
func Hash(crd *apiextensionsv1.CustomResourceDefinition, version string) string {
	sum := sha256.Sum256([]byte(crd.Spec.Group + "/" + version + "/" + crd.Spec.Names.Kind))
	return base64.StdEncoding.EncodeToString(sum[:8])
}

func versionOf(crd *apiextensionsv1.CustomResourceDefinition, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	for i := range crd.Spec.Versions {
		if crd.Spec.Versions[i].Name == name {
			return &crd.Spec.Versions[i]
		}
	}
	return nil
}

func versions(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var all []string
	for _, v := range crd.Spec.Versions {
		all = append(all, v.Name)
	}
	return all
}
