package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
)

// migrator is the cluster's own. It takes an order up when it is first looked at, and begins when
// something was written since.
type migrator struct {
	refuses error // to take an order
	forbids error // to list and delete orders
	idle    bool  // no controller takes orders up
	fails   bool
	hangs   bool
	passes  string // over an object that is refused as a conflict

	order *storagemigrationv1beta1.StorageVersionMigration
}

func (c *cluster) Order(context.Context, *apiextensionsv1.CustomResourceDefinition) (string, error) {
	if c.migrator == nil {
		return "", apierrors.NewNotFound(things, "")
	}
	if c.migrator.refuses != nil {
		return "", c.migrator.refuses
	}
	c.migrator.order = &storagemigrationv1beta1.StorageVersionMigration{ObjectMeta: metav1.ObjectMeta{Name: "order"}}
	return "order", nil
}

func (c *cluster) Ordered(context.Context, string) (*storagemigrationv1beta1.StorageVersionMigration, error) {
	is := func(condition storagemigrationv1beta1.MigrationConditionType, status metav1.ConditionStatus, message string) {
		meta.SetStatusCondition(&c.migrator.order.Status.Conditions, metav1.Condition{Type: string(condition), Status: status, Message: message})
	}
	switch m := c.migrator; {
	case m.idle:
	case m.order.Status.ResourceVersion == "":
		is(storagemigrationv1beta1.MigrationRunning, metav1.ConditionTrue, "")
		m.order.Status.ResourceVersion = "1"
	case len(c.wrote) == 0 || m.hangs:
	case isTrue(m.order, storagemigrationv1beta1.MigrationSucceeded), isTrue(m.order, storagemigrationv1beta1.MigrationFailed):
		c.trimmed()
		is(storagemigrationv1beta1.MigrationRunning, metav1.ConditionFalse, "")
	case m.fails:
		is(storagemigrationv1beta1.MigrationFailed, metav1.ConditionTrue, "admission denies c")
	default:
		for name := range c.stored {
			if name != m.passes {
				c.store(name)
			}
		}
		is(storagemigrationv1beta1.MigrationSucceeded, metav1.ConditionTrue, "")
	}
	return c.migrator.order, nil
}

// trimmed is what kube-controller-manager does when an order ends, whether it succeeded or failed.
func (c *cluster) trimmed() {
	c.crd.Status.StoredVersions = []string{Stored(c.crd)}
	c.crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.StorageMigrating, Status: apiextensionsv1.ConditionFalse}}
	c.changed()
}

func (c *cluster) Withdraw(context.Context, *apiextensionsv1.CustomResourceDefinition) error {
	switch {
	case c.migrator == nil:
		return apierrors.NewNotFound(things, "")
	case c.migrator.forbids != nil:
		return c.migrator.forbids
	}
	c.migrator.order = nil
	return nil
}

// What the cluster's migrator does not do is done in pages, which name all that is refused.
func TestMigrateByTheCluster(t *testing.T) {
	denied, conflict := apierrors.NewForbidden(things, "c", errors.New("denied")), apierrors.NewConflict(things, "c", errors.New("denied"))
	for name, test := range map[string]struct {
		migrator *migrator
		answers  map[string]error
		err      string
		says     string
		wrote    int // by the command itself
	}{
		"it does":                              {&migrator{}, nil, "", "the cluster has rewritten 3 objects", 1},
		"it passes over one":                   {&migrator{passes: "c"}, nil, "", "the cluster has rewritten 3 objects", 2},
		"it passes over one, which is refused": {&migrator{passes: "c"}, map[string]error{"c": conflict}, "1 objects of things.example.com cannot be rewritten", "", 2},
		"it may not be asked":                  {&migrator{refuses: apierrors.NewForbidden(things, "", errors.New("not you"))}, nil, "", "not you", 3},
		"its orders may not be listed":         {&migrator{forbids: apierrors.NewForbidden(things, "", errors.New("not you"))}, nil, "", "not you", 3},
		"no controller takes the order":        {&migrator{idle: true}, nil, "", "no controller has started StorageVersionMigration order", 3},
		"it hangs":                             {&migrator{hangs: true}, nil, "", "order is not done after 2m0.15s", 4},
		"it fails":                             {&migrator{fails: true}, nil, "", "admission denies c", 4},
		"it fails, and so does c":              {&migrator{fails: true}, map[string]error{"c": denied, "b": denied}, "2 objects of things.example.com cannot be rewritten", "admission denies c", 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster("v1", "a", "b", "c")
				c.migrator, c.answers, c.denies = test.migrator, test.answers, true
				var said []string
				done, err := Migrate(t.Context(), c, "v2", func(p Progress) {
					if p.Final {
						said = append(said, p.Line)
					}
				})
				if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
					t.Errorf("the error is %v, want %q", err, test.err)
				}
				if trusted := storedversions.Only(c.crd, "v2"); trusted != (err == nil) {
					t.Errorf("only v2 is said to be stored: %v, after %v", trusted, err)
				}
				if err == nil && (done != (Result{"v2", 3}) || fmt.Sprint(c.stored) != "map[a:v2 b:v2 c:v2]" || fmt.Sprint(c.crd.Status.StoredVersions) != "[v2]") {
					t.Errorf("%+v, stored are %v in %v", done, c.stored, c.crd.Status.StoredVersions)
				}
				if all := strings.Join(said, "; "); !strings.Contains(all, test.says) {
					t.Errorf("said %q, want %q", all, test.says)
				}
				if len(c.wrote) != test.wrote {
					t.Errorf("wrote %v, want %d", c.wrote, test.wrote)
				}
				if c.migrator.order != nil {
					t.Error("the order is left")
				}
			})
		})
	}
}
