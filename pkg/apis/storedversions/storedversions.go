// Package storedversions computes in which versions objects of a CustomResourceDefinition may be
// stored in etcd.
//
// status.storedVersions alone is no proof. kube-controller-manager sets it to the storage version
// when a StorageVersionMigration ends, also when the migration failed or skipped an object
// (Kubernetes 1.36, pkg/controller/storageversionmigrator/migrationrunner.go).
package storedversions

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Possible returns the versions in which objects may be stored: the ones in status.storedVersions, the ones that an
// incomplete storage migration has recorded, and, after a StorageVersionMigration of any client, all in
// spec.versions, which come first. It does not know versions that were removed after that: see Only.
func Possible(crd *apiextensionsv1.CustomResourceDefinition) []string {
	claimed := slices.Concat(crd.Status.StoredVersions, Recorded(crd))
	versions := lists.FilterMap(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) (string, bool) {
		return v.Name, slices.Contains(claimed, v.Name) || Migrated(crd)
	})
	return lists.Distinct(append(versions, claimed...))
}

// Describe returns in which versions the objects of a definition are stored. The API server does not report the
// version in which an object is stored: only with one possible version is it known.
func Describe(crd *apiextensionsv1.CustomResourceDefinition) string {
	versions := Possible(crd)
	if Migrated(crd) {
		versions = append(versions, "a removed version")
	}
	if len(versions) > 1 {
		return "which may be stored in " + strings.Join(versions, " or ")
	}
	return "stored in " + strings.Join(versions, " or ")
}

// Served returns the served versions of a definition.
func Served(crd *apiextensionsv1.CustomResourceDefinition) []string {
	return lists.FilterMap(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) (string, bool) { return v.Name, v.Served })
}

// Readable returns the version in which all objects of a definition are read: the storage version
// if it is served, otherwise the first served one; empty if none is served.
func Readable(crd *apiextensionsv1.CustomResourceDefinition) string {
	readable := ""
	for _, v := range crd.Spec.Versions {
		if v.Served && (readable == "" || v.Storage) {
			readable = v.Name
		}
	}
	return readable
}

// Only reports whether all objects of a definition are stored in one version. After a
// StorageVersionMigration it is false: objects may also be stored in a version that spec.versions had.
func Only(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	return !Migrated(crd) && slices.Equal(Possible(crd), []string{version})
}

// Claimed reports whether status.storedVersions names a version.
func Claimed(crd *apiextensionsv1.CustomResourceDefinition, version string) bool {
	return slices.Contains(crd.Status.StoredVersions, version)
}

// Recorded returns the versions that an incomplete storage migration has recorded.
func Recorded(crd *apiextensionsv1.CustomResourceDefinition) []string {
	value := crd.Annotations[wellknown.AnnotationStoredVersions]
	return strings.FieldsFunc(value, func(r rune) bool { return r == ',' })
}

// Migrated reports whether a StorageVersionMigration was started after the last storage migration of
// this project. The condition does not report whether every object was rewritten.
func Migrated(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.Status.Conditions, IsMigrating)
}

// IsMigrating reports whether kube-controller-manager set a condition for a StorageVersionMigration.
func IsMigrating(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
	return c.Type == apiextensionsv1.StorageMigrating
}
