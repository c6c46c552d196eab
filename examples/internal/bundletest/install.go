package bundletest

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// InstallGrants requires that install/rbac.yaml grants exactly the permissions of a bundle, in the whole cluster.
func InstallGrants(t *testing.T, file string) {
	t.Helper()
	asked := map[string][]rbacv1.PolicyRule{}
	strategy := CSV(t, file).Spec.InstallStrategy.StrategySpec
	for _, p := range slices.Concat(strategy.Permissions, strategy.ClusterPermissions) {
		asked["ClusterRole"] = append(asked["ClusterRole"], p.Rules...)
	}
	granted := map[string][]rbacv1.PolicyRule{}
	for document := range bytes.SplitSeq(text(t, "install/rbac.yaml"), []byte("\n---\n")) {
		var role struct {
			Kind  string              `json:"kind"`
			Rules []rbacv1.PolicyRule `json:"rules"`
		}
		installtest.Must(t, yaml.Unmarshal(document, &role))
		if len(role.Rules) > 0 {
			granted[role.Kind] = append(granted[role.Kind], role.Rules...)
		}
	}
	installtest.Same(t, "rules of install/rbac.yaml, compared with "+file, asked, granted)
}

// KustomizationHolds requires that kustomization.yaml lists every file of the directories.
func KustomizationHolds(t *testing.T, folders ...string) {
	t.Helper()
	kustomization := Read[struct {
		metav1.TypeMeta `json:",inline"`
		Namespace       string   `json:"namespace"`
		Resources       []string `json:"resources"`
	}](t, "kustomization.yaml")
	for _, folder := range folders {
		files, err := filepath.Glob(folder + "/*.yaml")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s holds nothing: %v", folder, err)
		}
		for _, file := range files {
			if !slices.Contains(kustomization.Resources, file) {
				t.Errorf("kustomization.yaml misses %s", file)
			}
		}
	}
}
