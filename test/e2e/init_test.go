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

// initOperator is an operator that watches a namespace, or all.
type initOperator struct {
	*terminal
	bundle  string
	watched string // namespace of the objects
}

func newInitOperator(t *testing.T, kind string) *initOperator {
	t.Helper()
	watched := newBareEnv(t)
	return &initOperator{newTerminal(t, "init-"+kind), "out/init/" + kind + "/bundle", watched.namespace}
}

func (o *initOperator) installs(arguments ...string) {
	o.Helper()
	o.works("", "bundle", "validate", o.bundle)
	o.works("", append([]string{"bundle", "install", o.bundle, "--yes"}, arguments...)...)
}

func (o *initOperator) uninstalls(arguments ...string) {
	o.Helper()
	o.works("y\n", append([]string{"bundle", "uninstall", o.bundle, "--yes"}, arguments...)...)
}

// shows waits, since the address of a Service can lag behind its pods.
func (o *initOperator) shows(want string, arguments ...string) {
	o.Helper()
	o.eventually(fmt.Sprintf("kubectl %s prints %q", strings.Join(arguments, " "), want), func() (bool, any) {
		output, err := o.inWatched(arguments...)
		return err == nil && strings.Contains(output, want), []any{output, err}
	})
}

func (o *initOperator) denies(why string, arguments ...string) {
	o.Helper()
	o.eventually(fmt.Sprintf("kubectl %s is denied", strings.Join(arguments, " ")), func() (bool, any) {
		_, err := o.inWatched(arguments...)
		return err != nil && strings.Contains(err.Error(), why), err
	})
}

func (o *initOperator) allows(arguments ...string) {
	o.Helper()
	_, err := o.inWatched(arguments...)
	o.must(err)
}

func (o *initOperator) create(text string) {
	o.Helper()
	file := filepath.Join(o.TempDir(), "object.yaml")
	installtest.Must(o, os.WriteFile(file, []byte(text), 0o600))
	o.allows("create", "-f", file)
}

func (o *initOperator) inWatched(arguments ...string) (string, error) {
	return kubectl(o.ctx, append([]string{"-n", o.watched}, arguments...)...)
}
