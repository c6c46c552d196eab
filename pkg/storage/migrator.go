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

// Migrator rewrites all objects of a definition inside of the cluster: the
// StorageVersionMigration API. Order fails where it is not served.
type Migrator interface {
	// Order asks for a migration, and returns its name.
	Order(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (string, error)
	// Ordered is how far it is.
	Ordered(ctx context.Context, name string) (*storagemigrationv1beta1.StorageVersionMigration, error)
	// Withdraw forgets it.
	Withdraw(ctx context.Context, name string) error
}

// migrated has the cluster's own migrator rewrite the objects, and tells since when: what is older is still to
// be written. It is empty where there is none, or it fails or stalls: of what is refused it names one object at
// best, and what is refused as a conflict or as not found it passes over.
func migrated(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string, tell Tell) (since string, err error) {
	page, err := c.Page(ctx, crd, to, "")
	if err != nil {
		return "", err
	}
	count := len(page.Items)
	if left := page.GetRemainingItemCount(); left != nil {
		count += int(*left)
	}
	if err = order(ctx, c, crd, to, page.Items, count, tell); err == nil {
		tell(Progress{Line: fmt.Sprintf("the cluster has rewritten %d objects", count), Final: true})
		return page.GetResourceVersion(), nil
	}
	if !apierrors.IsNotFound(err) {
		tell(Progress{Line: fmt.Sprintf("the cluster's own migrator does not do it, so objects are rewritten one by one: %v", err), Final: true})
	}
	return "", ctx.Err()
}

// order returns when the migrator has done what it is asked to do, or says why it does not. What nobody is
// at work on is withdrawn.
//
// The migrator waits until its cache is as new as the order, which it learns of the next write of
// an object, or within a minute or two: so it is given one.
func order(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string, objects []unstructured.Unstructured, count int, tell Tell) error {
	name, err := c.Order(ctx, crd)
	if err != nil {
		return err
	}
	started, nudged := time.Now(), len(objects) == 0
	return wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		now, err := c.Ordered(ctx, name)
		if err != nil {
			return false, err
		}
		if now.Status.ResourceVersion != "" && !nudged {
			nudged = true
			_ = c.Write(ctx, crd, to, &objects[0]) // the migrator tells what is wrong with it
		}
		waited := time.Since(started)
		tell(Progress{Line: fmt.Sprintf("the cluster rewrites %d objects: %s", count, waited.Round(time.Second))})
		over, failure := judge(now, waited, count)
		if over && !isTrue(now, storagemigrationv1beta1.MigrationRunning) {
			failure = errors.Join(failure, c.Withdraw(ctx, name))
		}
		return over, failure
	})
}

// How long the migrator may take: until somebody takes an order up; for its cache to get ready;
// and for each object, since it writes one after the other.
const (
	takenUpWithin = 10 * time.Second
	readyWithin   = 2 * time.Minute
	eachWithin    = 50 * time.Millisecond
)

// judge tells whether an order is over, and what is wrong with how it ended. It runs until the
// migrator has written the definition, too.
func judge(order *storagemigrationv1beta1.StorageVersionMigration, waited time.Duration, count int) (over bool, failure error) {
	limit := readyWithin + time.Duration(count)*eachWithin
	failed := meta.FindStatusCondition(order.Status.Conditions, string(storagemigrationv1beta1.MigrationFailed))
	running := isTrue(order, storagemigrationv1beta1.MigrationRunning)
	switch {
	case failed != nil && !running:
		return true, errors.New(failed.Message)
	case isTrue(order, storagemigrationv1beta1.MigrationSucceeded) && !running:
		return true, nil
	case !running && waited > takenUpWithin:
		return true, fmt.Errorf("after %s nobody has taken up StorageVersionMigration %s", takenUpWithin, order.Name)
	case waited > limit:
		return true, fmt.Errorf("StorageVersionMigration %s is not done after %s", order.Name, limit)
	default:
		return false, nil
	}
}

func isTrue(order *storagemigrationv1beta1.StorageVersionMigration, condition storagemigrationv1beta1.MigrationConditionType) bool {
	return meta.IsStatusConditionTrue(order.Status.Conditions, string(condition))
}
