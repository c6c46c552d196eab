package permissions

import (
	"crypto/sha256"
	"encoding/json"
	"math/big"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// longestCatalogName is the maximum length of a name that catalog-operator derives.
const longestCatalogName = 63

// CatalogClusterRole returns the name that OLM's catalog-operator (v0.46.0) gives to the ClusterRole of a cluster
// permission, and to its binding. A hash in it covers the name and the namespace of the CSV, the account and the rules.
func CatalogClusterRole(csv, namespace string, permission operatorsv1alpha1.StrategyDeploymentPermissions) string {
	hashed, err := json.Marshal(struct {
		Name       string                                          `json:"name,omitempty"`
		Namespace  string                                          `json:"namespace,omitempty"`
		Permission operatorsv1alpha1.StrategyDeploymentPermissions `json:"permission"`
	}{csv, namespace, permission})
	if err != nil {
		panic(err) // API types always marshal
	}
	sum := sha256.Sum224(append(hashed, '\n'))
	hash := new(big.Int).SetBytes(sum[:]).Text(62)
	base := csv
	if len(base)+len(hash) > longestCatalogName {
		base = base[:longestCatalogName-len(hash)-1]
	}
	return base + "-" + hash
}
