package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Migrator rewrites all objects of a definition in the cluster: the StorageVersionMigration API.
type Migrator interface {
	Order(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (string, error)
	Ordered(ctx context.Context, name string) (*storagemigrationv1beta1.StorageVersionMigration, error)
	// Withdraw deletes every StorageVersionMigration that this command has created for the
	// definition. It returns NotFound where the API is not served.
	Withdraw(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error
}

// useMigrator returns the resourceVersion since which the migrator of the cluster has rewritten objects; empty if it did
// not. Older objects still have to be written: it skips objects that are refused as a conflict or as not found.
func useMigrator(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string, tell ReportFunc) (since string, err error) {
	page, err := c.Page(ctx, crd, to, "")
	if err != nil {
		return "", err
	}
	count := len(page.Items)
	if left := page.GetRemainingItemCount(); left != nil {
		count += int(*left)
	}
	if err = createAndWait(ctx, c, crd, to, page.Items, count, tell); err == nil {
		tell(Progress{Line: fmt.Sprintf("the cluster has rewritten %d objects", count), Final: true})
		return page.GetResourceVersion(), nil
	}
	if !apierrors.IsNotFound(err) {
		tell(Progress{Line: fmt.Sprintf("the migrator of the cluster does not rewrite them, so the command rewrites the objects one by one: %v", err), Final: true})
	}
	return "", ctx.Err()
}

// withdrawTimeout limits how long an interrupted command takes to delete its StorageVersionMigration.
const withdrawTimeout = 10 * time.Second

// createAndWait also deletes the StorageVersionMigrations of earlier runs and, however it ends, its own: a migrator
// that is started later would run it then.
func createAndWait(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string, objects []unstructured.Unstructured, count int, tell ReportFunc) (err error) {
	if err := c.Withdraw(ctx, crd); err != nil {
		return err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
		defer cancel()
		err = errors.Join(err, c.Withdraw(ending, crd))
	}()
	name, err := c.Order(ctx, crd)
	if err != nil {
		return err
	}
	return waitForMigrator(ctx, c, crd, to, name, objects, count, tell)
}

// waitForMigrator writes one object: the migrator waits until its cache is as new as the order, and learns that from a
// write, or only within a minute or two.
func waitForMigrator(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to, name string, objects []unstructured.Unstructured, count int, tell ReportFunc) error {
	started, written := time.Now(), len(objects) == 0
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		now, err := c.Ordered(ctx, name)
		if err != nil {
			return false, err
		}
		if now.Status.ResourceVersion != "" && !written {
			written = true
			_ = c.Write(ctx, crd, to, &objects[0]) // the migrator reports what is wrong with it
		}
		waited := time.Since(started)
		tell(Progress{Line: fmt.Sprintf("the cluster rewrites %d objects: %s", count, waited.Round(time.Second))})
		return migratorResult(now, waited, count)
	})
}

// The migrator's time to take up an order, to fill its cache, and to write each object, one after the other.
const (
	startTimeout  = 10 * time.Second
	cacheTimeout  = 2 * time.Minute
	objectTimeout = 50 * time.Millisecond
)

// migratorResult reports whether a StorageVersionMigration, and its write of the definition, is over.
func migratorResult(order *storagemigrationv1beta1.StorageVersionMigration, waited time.Duration, count int) (over bool, failure error) {
	limit := cacheTimeout + time.Duration(count)*objectTimeout
	failed := meta.FindStatusCondition(order.Status.Conditions, string(storagemigrationv1beta1.MigrationFailed))
	running := isTrue(order, storagemigrationv1beta1.MigrationRunning)
	switch {
	case failed != nil && !running:
		return true, errors.New(failed.Message)
	case isTrue(order, storagemigrationv1beta1.MigrationSucceeded) && !running:
		return true, nil
	case !running && waited > startTimeout:
		return true, fmt.Errorf("after %s no controller has started StorageVersionMigration %s", startTimeout, order.Name)
	case waited > limit:
		return true, fmt.Errorf("StorageVersionMigration %s is not done after %s", order.Name, limit)
	default:
		return false, nil
	}
}

func isTrue(order *storagemigrationv1beta1.StorageVersionMigration, condition storagemigrationv1beta1.MigrationConditionType) bool {
	return meta.IsStatusConditionTrue(order.Status.Conditions, string(condition))
}
