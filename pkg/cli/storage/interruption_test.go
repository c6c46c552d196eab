package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// TestKilledAfterEachWrite ends the command after each of its writes, and runs it again. While an object is stored in
// v1, no run succeeds and v1 counts as stored, independent of what the migrations of other clients do to
// status.storedVersions meanwhile.
func TestKilledAfterEachWrite(t *testing.T) {
	refused := func(c *cluster) {
		c.denies, c.answers["c"] = true, apierrors.NewConflict(things, "c", errors.New("admission webhook denied the request"))
	}
	for name, prepare := range map[string]func(*cluster){
		"no migration of others":       func(*cluster) {},
		"c is refused":                 refused,
		"a write is in flight":         func(c *cluster) { c.holds = 59 * time.Second },
		"one of others ended":          func(c *cluster) { c.storage("v2"); c.late = 0; c.trimmed() },
		"one of others ended, refused": func(c *cluster) { c.storage("v2"); c.late = 0; c.trimmed(); refused(c) },
		"they end meanwhile":           func(c *cluster) { c.migrate = true },
		"they end meanwhile, refused":  func(c *cluster) { c.migrate = true; refused(c) },
	} {
		for write := 1; ; write++ {
			killed := false
			t.Run(fmt.Sprintf("%s/%d", name, write), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := newCluster("v1", "a", "b", "c")
					prepare(c)
					ctx, kill := context.WithCancel(t.Context())
					c.dies, c.kill = write, func() { killed = true; kill() }
					_, err := Migrate(ctx, mortal{c}, "v2", time.Minute, func(Progress) {})
					c.proves(t, err)
					kill()
					c.dies = 0
					for range 2 {
						_, err = Migrate(t.Context(), c, "v2", time.Minute, func(Progress) {})
						c.proves(t, err)
						if refused := c.denies; (err == nil) == refused {
							t.Errorf("run again: %v", err)
						}
					}
					pass(time.Hour)
					c.land()
					c.proves(t, err)
				})
			})
			if !killed {
				break
			}
		}
	}
}

// proves fails the test if a run reports its end, or the definition only v2 as stored, while an object is stored in v1.
func (c *cluster) proves(t *testing.T, err error) {
	t.Helper()
	left := c.storedIn("v1")
	if left != "" && (err == nil || !strings.Contains(strings.Join(storedversions.Possible(c.crd), " "), "v1")) {
		t.Errorf("stored in v1 are %q, possible are %v, and the error is %v", left, storedversions.Possible(c.crd), err)
	}
	if err == nil && (!storedversions.Only(c.crd, "v2") || len(c.crd.Annotations) > 0) {
		t.Errorf("it is done, possible are %v, and the annotations are %v", storedversions.Possible(c.crd), c.crd.Annotations)
	}
	if left != "" && !c.others && !slices.Contains(c.crd.Status.StoredVersions, "v1") {
		t.Errorf("stored in v1 are %q, and status.storedVersions is %v: the API server permits to remove v1", left, c.crd.Status.StoredVersions)
	}
}

// mortal is a cluster for a command that is killed: it does nothing after its context has ended.
type mortal struct{ *cluster }

func (c mortal) Definition(ctx context.Context) (*apiextensionsv1.CustomResourceDefinition, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return c.cluster.Definition(ctx)
}

// A write of the definition that is refused for ever ends the command, with the reason.
func TestDefinitionThatCannotBeWritten(t *testing.T) {
	denial := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 409, Reason: metav1.StatusReasonConflict, Message: `admission webhook "w" denied the request: definitions are frozen`}}
	for name, test := range map[string]struct {
		prepare func(*cluster)
		err     string
	}{
		"admission denies with a conflict":         {func(c *cluster) { c.frozen = denial }, `refused by admission (record the versions in which objects may be stored): admission webhook "w" denied the request: definitions are frozen`},
		"another client writes each time":          {func(c *cluster) { c.rival = c.changed }, "is changed by another client at each of 10 attempts (record the versions"},
		"the annotation is removed at once":        {func(c *cluster) { c.reverts = func() { c.crd.Annotations = nil } }, "10 attempts had no effect (record the versions"},
		"its certificate is replaced all the time": {func(c *cluster) { c.rotates = true }, "10 attempts had no effect (rewrite all objects)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster("v1", "a", "b", "c")
				test.prepare(c)
				_, err := Migrate(t.Context(), c, "v2", time.Minute, func(Progress) {})
				installtest.Error(t, test.err, err)
				c.proves(t, err)
			})
		})
	}
}

// A conflict after all objects are rewritten repeats the write of the status alone.
func TestConflictRewritesNothingAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCluster("v1", "a", "b", "c")
		conflicts := 3
		c.rival = func() {
			if c.storedIn("v1") == "" && conflicts > 0 {
				conflicts--
				c.changed()
			}
		}
		n, err := Migrate(t.Context(), c, "v2", time.Minute, func(Progress) {})
		c.proves(t, err)
		if err != nil || n.Rewritten != 3 || len(c.wrote) != 3 || conflicts != 0 {
			t.Errorf("%+v, wrote %v, %d conflicts left: %v", n, c.wrote, conflicts, err)
		}
	})
}
