package controller

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers/informerstest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
)

// ClusterServiceVersions that name the same Deployment wait for one that is reconciled, but occupy no
// worker. They are reconciled one after the other.
func TestContendersOccupyNoWorker(t *testing.T) {
	const contenders = 40
	var csvs []*operatorsv1alpha1.ClusterServiceVersion
	for i := range contenders {
		csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprintf("operator-%d.v1", i)}}
		csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []operatorsv1alpha1.StrategyDeploymentSpec{{Name: "server"}}
		csvs = append(csvs, csv)
	}
	c := newController(Options{})
	c.caches = informerstest.Empty(t)
	c.wire()
	c.caches.CSVs = informerstest.Holding(t, &operatorsv1alpha1.ClusterServiceVersion{}, csvs...)
	active := queue.CSVKey("shop", "active")
	if !c.locks.TryLock(active) {
		t.Fatal("the namespace is locked")
	}
	for _, csv := range csvs {
		if _, err := c.reconcileCSV(t.Context(), queue.CSVKey("shop", csv.Name)); !errors.Is(err, errLocked) {
			t.Fatalf("%s: %v", csv.Name, err)
		}
	}
	if added := c.drain(); len(added) > 0 {
		t.Errorf("while the namespace is locked, %v were added", added)
	}
	c.locks.Unlock("shop")
	if _, err := c.reconcileCSV(t.Context(), active); err != nil { // it does not exist any more
		t.Fatal(err)
	}
	for i := range contenders {
		if added := c.drain(); len(added) != 1 || added[0].Name != csvs[i].Name {
			t.Fatalf("%v were added", added)
		}
		c.locks.Next("shop")
	}
	if added := c.drain(); len(added) > 0 {
		t.Errorf("%v were added twice", added)
	}
}
