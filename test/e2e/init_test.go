package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Each operator that kubectl webhooks init writes goes live with the commands of its README.md. hack/e2e.sh builds the images.
func TestOperatorsOfInitGoLive(t *testing.T) {
	t.Run("validating", func(t *testing.T) {
		o := newInitOperator(t, "validating")
		o.installs("--watch-namespaces", o.watched)
		o.denies("has no label team", "run", "cart", "--image=any", "--dry-run=server")
		o.allows("run", "cart", "--image=any", "--dry-run=server", "--labels=team=sales")
		o.uninstalls()
		o.allows("run", "cart", "--image=any", "--dry-run=server")
	})
	t.Run("mutating", func(t *testing.T) {
		o := newInitOperator(t, "mutating")
		o.installs("--watch-namespaces", o.watched)
		o.shows("cost-center: unassigned", "run", "cart", "--image=any", "--dry-run=server", "-o", "yaml")
		o.uninstalls()
	})
	t.Run("conversion", func(t *testing.T) {
		o := newInitOperator(t, "conversion")
		o.installs()
		o.create("apiVersion: init-conversion.example.com/v1alpha1\nkind: Sample\nmetadata: {name: s}\nspec: {size: \"3\"}\n")
		o.shows("replicas: 3", "get", "samples.v1.init-conversion.example.com", "s", "-o", "yaml")
		o.shows(`size: "3"`, "get", "samples.v1alpha1.init-conversion.example.com", "s", "-o", "yaml")
		o.allows("delete", "samples", "s")
		o.uninstalls("--delete-crds")
	})
}

// bundleOperator is an operator that watches a namespace, or all.
type bundleOperator struct {
	*terminal
	bundle  string
	watched string // namespace of the objects
}

func newInitOperator(t *testing.T, kind string) *bundleOperator {
	t.Helper()
	watched := newBareEnv(t)
	return &bundleOperator{newTerminal(t, "init-"+kind), "out/init/" + kind + "/bundle", watched.namespace}
}

func (o *bundleOperator) installs(arguments ...string) {
	o.Helper()
	o.works("", "bundle", "validate", o.bundle)
	o.works("", append([]string{"bundle", "install", o.bundle, "--yes"}, arguments...)...)
}

func (o *bundleOperator) uninstalls(arguments ...string) {
	o.Helper()
	o.works("y\n", append([]string{"bundle", "uninstall", o.bundle, "--yes"}, arguments...)...)
}

// shows waits, since the address of a Service can lag behind its pods.
func (o *bundleOperator) shows(want string, arguments ...string) {
	o.Helper()
	o.eventually(fmt.Sprintf("kubectl %s prints %q", strings.Join(arguments, " "), want), func() (bool, any) {
		output, err := o.inWatched(arguments...)
		return err == nil && strings.Contains(output, want), []any{output, err}
	})
}

func (o *bundleOperator) denies(why string, arguments ...string) {
	o.Helper()
	o.eventually(fmt.Sprintf("kubectl %s is denied", strings.Join(arguments, " ")), func() (bool, any) {
		_, err := o.inWatched(arguments...)
		return err != nil && strings.Contains(err.Error(), why), err
	})
}

func (o *bundleOperator) allows(arguments ...string) {
	o.Helper()
	_, err := o.inWatched(arguments...)
	o.must(err)
}

func (o *bundleOperator) create(text string) {
	o.Helper()
	o.allows("create", "-f", o.file(text))
}

func (o *bundleOperator) file(object string) string {
	o.Helper()
	path := filepath.Join(o.TempDir(), "object.yaml")
	installtest.Must(o, os.WriteFile(path, []byte(object), 0o600))
	return path
}

func (o *bundleOperator) inWatched(arguments ...string) (string, error) {
	return kubectl(o.ctx, append([]string{"-n", o.watched}, arguments...)...)
}
