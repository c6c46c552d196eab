package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// appliedByClient are the examples whose bundles a plain kubectl apply takes here, and not a
// server-side one: among them the one whose second version is applied over its first.
var appliedByClient = []string{"crdconversion", "volumelabels"}

// The output of bundle render installs each example's bundles when piped into kubectl apply, and is the same each time.
// The test is not parallel: the examples' own tests define the same resources.
func TestRenderedBundles(t *testing.T) {
	found, err := filepath.Glob("../../examples/*/bundle*/metadata")
	if err != nil || len(found) == 0 {
		t.Fatalf("no bundles: %v", err)
	}
	bundles := map[string][]string{}
	for _, metadata := range found {
		folder := filepath.Dir(metadata)
		example := filepath.Base(filepath.Dir(folder))
		bundles[example] = append(bundles[example], filepath.Base(folder))
	}
	for example, folders := range bundles {
		apply := "kubectl apply --server-side -f -"
		if slices.Contains(appliedByClient, example) {
			apply = "kubectl apply -f -"
		}
		t.Run(example, func(t *testing.T) {
			t.Parallel()
			for _, folder := range folders {
				t.Run(folder, func(t *testing.T) {
					term := &terminal{env: &env{T: t, ctx: context.WithoutCancel(t.Context()), namespace: "rendered-" + example, began: metav1.Now()}}
					term.rendersAndApplies("examples/"+example+"/"+folder, apply)
				})
			}
		})
	}
}

func (t *terminal) rendersAndApplies(folder, apply string) {
	t.Helper()
	render := "kubectl webhooks bundle render " + folder + " -n " + t.namespace
	manifests := t.shell(render)
	installtest.Same(t, folder+" rendered twice", manifests, t.shell(render))
	t.Cleanup(func() {
		if t.Failed() {
			t.explain()
		}
		t.kubectl("delete", "csv", "--all", "-n", t.namespace, "--wait", "--ignore-not-found")
		t.shell(render + " | kubectl delete -f - --ignore-not-found")
	})
	t.shell(render + " | " + apply)
	b, err := bundle.Inspect("../../" + folder)
	t.must(err)
	t.succeeds(b.CSV.Name)
}

// shell runs a pipe of commands from the root of the checkout, each of which has to work, and
// returns what the last one wrote to stdout.
func (t *terminal) shell(pipe string) string {
	t.Helper()
	folder, err := plugin()
	t.must(err)
	cmd := exec.CommandContext(t.ctx, "bash", "-o", "pipefail", "-c", pipe)
	cmd.Dir, cmd.Env = "../..", append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
	var hints bytes.Buffer
	cmd.Stderr = &hints
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", pipe, err, output, &hints)
	}
	return string(output)
}
