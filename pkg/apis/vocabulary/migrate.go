package vocabulary

import "fmt"

// StorageMigration tells people to have all objects of a definition stored in one version, after
// which others can go: the one way out, wherever a message needs it.
func StorageMigration(crd, to string) string {
	return fmt.Sprintf("run `olm-webhook-manager storage migrate %s --to %s`", crd, to)
}
