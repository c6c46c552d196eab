package controller

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers/informerstest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// teams returns a controller with a number of teams. Each has the same operator, which owns ten
// definitions and an APIService of their group, and its own OperatorGroup and Namespace. The first team has begun: it
// has the best right to the definitions, which the events of another team do not change.
func teams(t testing.TB, number int) *Controller {
	t.Helper()
	var csvs []*operatorsv1alpha1.ClusterServiceVersion
	var groups []*operatorsv1.OperatorGroup
	var namespaces []*corev1.Namespace
	for i := range number {
		name := fmt.Sprintf("team-%d", i)
		group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "og", UID: types.UID("og-" + name), Generation: 1}}
		group.Spec.TargetNamespaces = []string{name}
		csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "op.v1", UID: types.UID("op-" + name), Generation: 1}}
		csv.Spec.InstallModes = []operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeOwnNamespace, Supported: true}}
		csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = []operatorsv1alpha1.StrategyDeploymentSpec{{Name: "server"}}
		csv.Spec.CustomResourceDefinitions.Owned = installtest.Times(10, func(kind int) operatorsv1alpha1.CRDDescription {
			return operatorsv1alpha1.CRDDescription{Name: fmt.Sprintf("kinds%d.example.com", kind), Version: "v1", Kind: fmt.Sprint("Kind", kind)}
		})
		csv.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{Name: "ponds", Group: "example.com", Version: "v1", Kind: "Pond", DeploymentName: "server"}}
		csv.CreationTimestamp = metav1.NewTime(time.Unix(int64(i), 0))
		if i == 0 {
			csv.Status.Phase = operatorsv1alpha1.CSVPhaseSucceeded
		}
		csvs, groups = append(csvs, csv), append(groups, group)
		namespaces = append(namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	c := controllerOf(t, csvs...)
	c.caches.Groups = informerstest.Holding(t, &operatorsv1.OperatorGroup{}, groups...)
	c.caches.Namespaces = informerstest.Holding(t, &corev1.Namespace{}, namespaces...)
	for _, csv := range csvs {
		c.handlers.ClaimChanged(nil, csv)
	}
	c.drain()
	return c
}

// controllerOf returns a controller whose caches hold these ClusterServiceVersions alone.
func controllerOf(t testing.TB, csvs ...*operatorsv1alpha1.ClusterServiceVersion) *Controller {
	t.Helper()
	c := newController(Options{})
	c.adopted, c.budgets = informers.NewAdoptedPods(nil, nil), informers.NewOtherBudgets(nil, nil) // They watch nothing.
	c.caches = informerstest.Empty(t)
	c.wire()
	c.caches.CSVs = informerstest.Holding(t, &operatorsv1alpha1.ClusterServiceVersion{}, csvs...)
	return c
}

func (c *Controller) drain() (keys []queue.Key) {
	for c.queue.Len() > 0 {
		k, _ := c.queue.Get()
		c.queue.Done(k)
		keys = append(keys, k)
	}
	return keys
}

// eventsOfOneTeam returns changes that do not affect the other teams.
func eventsOfOneTeam(t testing.TB, c *Controller) map[string]func() {
	before := c.caches.CSVs.Get("team-7", "op.v1")
	edited := before.DeepCopy()
	edited.Generation = 2
	begun := before.DeepCopy()
	begun.Status.Phase = operatorsv1alpha1.CSVPhaseSucceeded
	group := c.caches.Groups.Get("team-7", "og")
	status, selects := group.DeepCopy(), group.DeepCopy()
	status.Status.Namespaces = []string{"team-7"}
	selects.Generation, selects.Spec.UpgradeStrategy = 2, operatorsv1.UpgradeStrategyUnsafeFailForward
	namespace := c.caches.Namespaces.Get("", "team-7")
	labelled := namespace.DeepCopy()
	labelled.Labels = map[string]string{"of": "team-7"}
	put := func(s interface{ Update(any) error }, o drift.Object) {
		installtest.Must(t, s.Update(o))
	}
	return map[string]func(){
		"an edit of its operator": func() {
			put(c.caches.CSVs.Informers[0].GetStore(), edited)
			c.handlers.ClaimChanged(before, edited)
			c.handlers.VersionChanged(before, edited)
		},
		"another phase": func() {
			put(c.caches.CSVs.Informers[0].GetStore(), begun)
			c.handlers.ClaimChanged(before, begun)
			c.handlers.VersionChanged(before, begun)
		},
		"a status of its group": func() { put(c.caches.Groups.Informers[0].GetStore(), status); c.handlers.GroupChanged(group, status) },
		"an edit of its group":  func() { put(c.caches.Groups.Informers[0].GetStore(), selects); c.handlers.GroupChanged(group, selects) },
		"a label of its Namespace": func() {
			put(c.caches.Namespaces.Informers[0].GetStore(), labelled)
			c.handlers.NamespaceChanged(namespace, labelled)
		},
	}
}

// An event of one team enqueues no key of another team, and costs the same for any number of teams.
func TestEventOfOneTeam(t *testing.T) {
	few, many := teams(t, 40), teams(t, 400)
	fewEvents, manyEvents := eventsOfOneTeam(t, few), eventsOfOneTeam(t, many)
	for name, event := range manyEvents {
		many.drain()
		event()
		for _, k := range many.drain() {
			if k.Namespace != "team-7" && k.Name != "team-7" {
				t.Errorf("%s wakes %v", name, k)
			}
		}
		work := func(c *Controller, event func()) float64 {
			return testing.AllocsPerRun(20, func() { event(); c.drain(); readsOthers(t, c) })
		}
		if few, many := work(few, fewEvents[name]), work(many, event); many > 1.5*few+10 {
			t.Errorf("%s: %v allocations among 40 teams, %v among 400", name, few, many)
		}
	}
}

// Each Namespace of an OperatorGroup has a key of its own: one that is refused does not delay the others.
func TestNamespacesOfAGroup(t *testing.T) {
	c := teams(t, 10)
	group := c.caches.Groups.Get("team-7", "og").DeepCopy()
	group.Generation++
	group.Spec.TargetNamespaces = installtest.Times(10, func(i int) string { return fmt.Sprintf("team-%d", i) })
	c.handlers.GroupChanged(c.caches.Groups.Get("team-7", "og"), group)
	keys := c.drain()
	for _, name := range group.Spec.TargetNamespaces {
		if !slices.Contains(keys, queue.NamespaceKey(name)) {
			t.Errorf("Namespace %s has no key among %v", name, keys)
		}
	}
}

// readsOthers reads what the reconciliation of an operator reads of the others.
func readsOthers(t testing.TB, c *Controller) {
	t.Helper()
	csv := c.caches.CSVs.Get("team-7", "op.v1")
	own, _ := c.versions.ScopeOf(csv.Namespace)
	claimant, relatives := c.versions.ClaimantOf(csv), c.versions.LineageOf(csv)
	if own.Conflict(claimant, c.versions.Rivals(claimant, own)) != nil || len(c.versions.Neighbours(csv, relatives)) > 0 || len(c.versions.Contenders(csv, relatives)) > 0 {
		t.Fatal("it has a rival")
	}
}

// BenchmarkOneEventAmongTeams edits one operator of many teams: it measures events and the reconciliation's reads.
func BenchmarkOneEventAmongTeams(b *testing.B) {
	for _, number := range []int{100, 400, 1600} {
		b.Run(fmt.Sprintf("teams=%d", number), func(b *testing.B) {
			c := teams(b, number)
			event := eventsOfOneTeam(b, c)["an edit of its operator"]
			for b.Loop() {
				event()
				c.drain()
				readsOthers(b, c)
			}
			if each := b.Elapsed() / time.Duration(b.N); each > 100*time.Millisecond {
				b.Errorf("one event takes %s", each)
			}
		})
	}
}

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
	c := controllerOf(t, csvs...)
	active := queue.CSVKey("shop", "active")
	if !c.locks.TryLock(active) {
		t.Fatal("the namespace is locked")
	}
	for _, csv := range csvs {
		if _, err := c.reconcileCSV(t.Context(), queue.CSVKey("shop", csv.Name)); !errors.Is(err, errLocked) {
			t.Fatalf("%s: %v", csv.Name, err)
		}
	}
	installtest.None(t, "added while the namespace is locked", c.drain())
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
	installtest.None(t, "added twice", c.drain())
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
	installtest.None(t, "added while two are reconciled", c.drain())
	end(0)
	installtest.Same(t, "added", []queue.Key{third}, c.drain())
}
