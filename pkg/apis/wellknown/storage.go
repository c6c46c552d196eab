package wellknown

import "fmt"

// AnnotationStoredVersions, on a CustomResourceDefinition, lists the versions in which objects may
// be stored, separated by commas. A storage migration writes it before its first write and deletes
// it after it has rewritten every object itself.
const AnnotationStoredVersions = "olm-webhook-manager.io/stored-versions"

// StorageMigration returns the command that stores all objects of a definition in one version,
// after which the other versions can be removed. Every message that needs it uses this function.
func StorageMigration(crd, to string) string {
	return fmt.Sprintf("run `kubectl webhooks storage migrate %s --to %s`", crd, to)
}
