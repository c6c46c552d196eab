package bundle

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/installer"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An upgrade that is killed after each of its writes continues with the same command, and is removed as a whole with
// the bundle of either version.
func TestKilledUpgrades(t *testing.T) {
	e := newEnv(t)
	whole := newInstaller(t)
	for _, test := range []struct {
		name   string
		repeat bool
		by     int // the version whose bundle removes it
	}{{"old", false, 1}, {"new", false, 2}, {"repeated", true, 2}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			writes := 1 // The first writes the record.
			for killed := true; killed; writes++ {
				name := fmt.Sprintf("killed-%s-%d", test.name, writes)
				versions := map[int]*bundle.Bundle{1: upgradable(t, name, 1), 2: upgradable(t, name, 2)}
				e.namespace(t, name)
				must(t, interrupted(t, whole, e.planned(t, whole, versions[1], name)))
				killed = upgradeWithin(t, e, versions[2], name, writes)
				if test.repeat {
					must(t, interrupted(t, whole, e.planned(t, whole, versions[2], name)))
				}
				e.removeWith(t, whole, versions[test.by], versions[2])
			}
			if writes < 7 {
				t.Errorf("the upgrade had only %d writes", writes)
			}
		})
	}
}

// upgradable is a version of a bundle: both have an object whose text changes, and each has one of its own.
func upgradable(t *testing.T, name string, version int) *bundle.Bundle {
	t.Helper()
	described := fmt.Sprintf("version %d", version)
	b := written(t, name, fmt.Sprintf("%s.v%d", name, version),
		text(priority, name+"-both", described), text(priority, fmt.Sprintf("%s-%d", name, version), "bundle"), text(definition1, name, described))
	if version > 1 {
		b.CSV.Spec.Replaces = fmt.Sprintf("%s.v%d", name, version-1)
		must(t, unstructured.SetNestedField(b.CSVObject.Object, b.CSV.Spec.Replaces, "spec", "replaces"))
	}
	return b
}

// planned is the plan of a command without permission to overwrite anything.
func (e *env) planned(t *testing.T, c *installer.Installer, b *bundle.Bundle, namespace string) installer.Plan {
	t.Helper()
	p := planOf(t, c, prepared(t, c, b, bundle.Options{Namespace: namespace}))
	return p
}

func upgradeWithin(t *testing.T, e *env, b *bundle.Bundle, namespace string, writes int) (killed bool) {
	t.Helper()
	config := rest.CopyConfig(cluster.Config())
	left := &atomic.Int64{}
	left.Store(int64(writes))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return killedAfter{next, left} })
	c := installtest.OrPanic(installer.New(config))
	return interrupted(t, c, e.planned(t, c, b, namespace)) != nil
}

// An API server that no longer answers while an installation is followed ends the command with the cause.
func TestInstallationWithoutAnAPIServer(t *testing.T) {
	e := newEnv(t)
	const name = "unanswered"
	e.namespace(t, name)
	var gone atomic.Bool
	config := rest.CopyConfig(cluster.Config())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if gone.Load() {
				return nil, errors.New("connection refused by the test")
			}
			return next.RoundTrip(r)
		})
	})
	c, err := installer.New(config)
	must(t, err)
	i := prepared(t, c, written(t, name, name+".v1"), bundle.Options{Namespace: name})
	i.Timeout = time.Second
	i.Print = func(format string, args ...any) {
		if strings.HasPrefix(fmt.Sprintf(format, args...), "applied ClusterServiceVersion") {
			gone.Store(true)
		}
	}
	_, err = install(t.Context(), c, planOf(t, c, i))
	says(t, err, "connection refused by the test")
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type killedAfter struct {
	next http.RoundTripper
	left *atomic.Int64
}

func (k killedAfter) RoundTrip(r *http.Request) (*http.Response, error) {
	writes := r.Method != http.MethodGet && !r.URL.Query().Has("dryRun")
	if k.left.Load() < 0 || writes && k.left.Add(-1) < 0 {
		return nil, errors.New("the process is killed")
	}
	return k.next.RoundTrip(r)
}

// removeWithLatest removes an installation that the old bundle must not remove: its upgrade was complete.
func (e *env) removeWithLatest(t *testing.T, c *installer.Installer, b, latest *bundle.Bundle, refusal error) {
	t.Helper()
	if complete := fmt.Sprintf("%s is installed in namespace", latest.CSV.Name); b == latest || !strings.Contains(refusal.Error(), complete) {
		t.Fatal(refusal)
	}
	e.removeWith(t, c, latest, latest)
}

func (e *env) removeWith(t *testing.T, c *installer.Installer, b, latest *bundle.Bundle) {
	t.Helper()
	o := bundle.Options{}
	if _, err := c.CompleteUninstall(t.Context(), b, &o); err != nil {
		e.removeWithLatest(t, c, b, latest, err)
		return
	}
	i := prepared(t, c, b, o)
	removal, err := c.Removal(t.Context(), i, true)
	if err != nil {
		e.removeWithLatest(t, c, b, latest, err)
		return
	}
	_, err = c.Uninstall(t.Context(), i, agreedRemoval(t, removal))
	must(t, err)
	name := o.Namespace
	left := prepared(t, c, latest, o).Manifests
	for version := 1; version <= 2; version++ {
		class := parsed(t, text(priority, fmt.Sprintf("%s-%d", name, version), ""))
		csv := latest.CSVObject.DeepCopy()
		csv.SetNamespace(name)
		csv.SetName(fmt.Sprintf("%s.v%d", name, version))
		left = append(left, class, csv)
	}
	for _, object := range left {
		installtest.Same(t, deploy.Title(object)+" exists", object.GetKind() == "Namespace", e.isThere(t, object))
	}
}
