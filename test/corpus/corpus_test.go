// Package corpus installs real operator bundles on a real API server and compares what
// the manager makes of them with what OLM v0 made of them.
//
// BUNDLES names a folder with a registry+v1 bundle in NAME/VERSION for each operator, and
// EXPECTED one with NAME/{webhooks,services,conversions,deployments,secrets,status}.yaml, as
// OLM v0 left them: server-set fields, owner references, caBundles and secret values removed.
// Everything in it is compared. What has to differ is an improvement, and has a name. Where
// status.yaml reports rejectedByAPIServer, the API server has to reject it again.
package corpus

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { kube.Main(m, &cluster) }

func TestBundlesComeOutAsUnderOLM(t *testing.T) {
	bundles, expected := os.Getenv("BUNDLES"), os.Getenv("EXPECTED")
	if bundles == "" || expected == "" {
		t.Skip("BUNDLES and EXPECTED are not set: no bundles to compare with OLM v0's results")
	}
	operators, err := filepath.Glob(filepath.Join(bundles, "*", "*", "manifests"))
	if err != nil || len(operators) == 0 {
		t.Fatalf("no bundle in %s: %v", bundles, err)
	}
	compareAll(t, operators, expected)
	e, taken := newEnv(t), map[string]bool{}
	for _, manifests := range operators {
		name := operatorOf(manifests)
		t.Run(name, func(t *testing.T) {
			b := readBundle(t, manifests)
			namespace := "op-" + name
			if refusal := readRefusal(t, filepath.Join(expected, name)); refusal != nil {
				e.isRefused(t, namespace, b, refusal)
				return
			}
			said := e.install(t, namespace, b)
			want := readExpected(t, filepath.Join(expected, name))
			got := e.collect(t, b)
			want.improve(got, b, taken)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("differs from what OLM v0 left, improved (-want +got):\n%s", diff)
			}
			wentThrough(t, said, filepath.Join(expected, name, "status.yaml"))
			e.uninstall(t, namespace, b)
		})
	}
	documented(t, taken)
}

func operatorOf(manifests string) string { return filepath.Base(filepath.Dir(filepath.Dir(manifests))) }

// compareAll fails where there is a result of OLM v0 and nothing to compare with it.
func compareAll(t *testing.T, operators []string, expected string) {
	t.Helper()
	results, err := filepath.Glob(filepath.Join(expected, "*", "status.yaml"))
	must(t, err)
	for _, result := range results {
		name := filepath.Base(filepath.Dir(result))
		if !slices.ContainsFunc(operators, func(manifests string) bool { return operatorOf(manifests) == name }) {
			t.Errorf("%s exists, and no bundle of %s", result, name)
		}
	}
}
