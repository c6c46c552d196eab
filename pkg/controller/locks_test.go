package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers/informerstest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
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

// Keys whose last reconciliation was slow occupy a quarter of the workers.
func TestSlowKeysOccupyFewWorkers(t *testing.T) {
	c := newController(Options{Workers: 8})
	c.metrics, c.log = metrics.New(prometheus.NewRegistry()), logrus.NewEntry(logrus.New())
	c.caches = informerstest.Empty(t)
	c.wire()
	var now time.Time
	c.now = func() time.Time {
		now = now.Add(time.Second)
		return now
	}
	first, second, third := queue.CSVKey("shop", "a"), queue.CSVKey("shop", "b"), queue.CSVKey("shop", "c")
	for _, k := range []queue.Key{first, second, third} {
		c.reconcile(t.Context(), k)
	}
	end, one := c.slow.Start(first)
	if _, two := c.slow.Start(second); !one || !two {
		t.Fatal("two of eight workers do not reconcile slow keys")
	}
	c.reconcile(t.Context(), third)
	if added := c.drain(); len(added) > 0 {
		t.Errorf("while two are reconciled, %v were added", added)
	}
	end(0)
	if added := c.drain(); len(added) != 1 || added[0] != third {
		t.Errorf("%v were added", added)
	}
}
