package vocabulary

import "fmt"

// AnnotationStoredVersions, on a CustomResourceDefinition, lists the versions in which objects may
// be stored, separated by commas. A storage migration writes it before its first write and deletes
// it when it has rewritten every object itself.
const AnnotationStoredVersions = "olm-webhook-manager.io/stored-versions"

// LabelStorageMigration, on a StorageVersionMigration, says that a storage migration of this
// project created it. The next one deletes what an interrupted one has left.
const LabelStorageMigration = "olm-webhook-manager.io/storage-migration"

// StorageMigration is the command that has all objects of a definition stored in one version,
// after which the other versions can be removed. Every message that needs it uses this function.
func StorageMigration(crd, to string) string {
	return fmt.Sprintf("run `olm-webhook-manager storage migrate %s --to %s`", crd, to)
}
