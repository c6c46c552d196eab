// Package crdversions makes the changes of CustomResourceDefinitions that their policy holds: it serves a version when
// the conversion webhook of its operator is live.
package crdversions

import (
	"context"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/heldversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdversions/release"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/loop"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// workers is the number of definitions that are reconciled at the same time: only an upgrade has any.
const workers = 2

// patience is that of bundle upgrade, by default.
const patience = time.Minute

// Releaser serves held versions.
type Releaser struct {
	// Patience is how long pods may wait for a held version: see release.Facts.
	Patience time.Duration

	extensions apiextensions.Interface
	caches     *informers.Caches
	events     record.EventRecorder
	log        *logrus.Entry
	loop       *loop.Loop
	unready    unready
	missing    missing
}

// New returns a releaser that reads the caches of the controller.
func New(extensions apiextensions.Interface, caches *informers.Caches, events record.EventRecorder, log *logrus.Entry) (*Releaser, error) {
	r := &Releaser{Patience: patience, extensions: extensions, caches: caches, events: events, log: log}
	r.loop = loop.New(r.reconcile, log)
	return r, r.watch()
}

// Fill fills nothing: the controller fills its caches.
func (*Releaser) Fill(context.Context) error { return nil }

// Run reconciles until the context ends.
func (r *Releaser) Run(ctx context.Context) { r.loop.Run(ctx, workers) }

// byBringer indexes definitions by the ClusterServiceVersions that bring a held change.
const byBringer = "bringer"

func bringers(o any) (names []string, _ error) {
	for _, of := range heldversions.Of(o.(*apiextensionsv1.CustomResourceDefinition)).For {
		names = append(names, of.String())
	}
	return names, nil
}

func (r *Releaser) watch() error {
	if err := r.caches.CRDs.Informers[0].AddIndexers(cache.Indexers{byBringer: bringers}); err != nil {
		return err
	}
	for informer, changed := range map[cache.SharedIndexInformer]func(before, after drift.Object){
		r.caches.CRDs.Informers[0]:     func(_, after drift.Object) { r.definitionChanged(after) },
		r.caches.CSVs.Informers[0]:     r.operatorChanged,
		r.caches.Rollouts.Informers[0]: r.rolloutChanged,
	} {
		if _, err := informer.AddEventHandler(informers.Handler(changed)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Releaser) definitionChanged(after drift.Object) {
	if crd, exists := after.(*apiextensionsv1.CustomResourceDefinition); exists {
		r.enqueue(crd.Name)
	}
}

func (r *Releaser) operatorChanged(before, after drift.Object) {
	for _, o := range []drift.Object{before, after} {
		if csv, exists := o.(*operatorsv1alpha1.ClusterServiceVersion); exists && !csv.IsCopied() {
			r.enqueue(csvspec.RequiredCRDs(csv)...)
			brought := r.caches.CRDs.By(byBringer, cache.MetaObjectToName(csv).String())
			r.enqueue(lists.Map(brought, func(crd *apiextensionsv1.CustomResourceDefinition) string { return crd.Name })...)
		}
	}
}

func (r *Releaser) rolloutChanged(_, after drift.Object) {
	if after == nil {
		return
	}
	if csv := r.caches.CSVs.Get(after.GetNamespace(), after.GetName()); csv != nil {
		r.operatorChanged(nil, csv)
	}
}

// enqueue ignores definitions of which nothing is held.
func (r *Releaser) enqueue(crds ...string) {
	for _, name := range crds {
		if crd := r.caches.CRDs.Get("", name); crd != nil && heldversions.Annotated(crd) {
			r.loop.Add(cache.NewObjectName("", name))
		}
	}
}

func (r *Releaser) reconcile(ctx context.Context, object cache.ObjectName) error {
	crd := r.caches.CRDs.Get("", object.Name)
	if crd == nil || crd.DeletionTimestamp != nil {
		r.unready.forget(object.Name)
		r.missing.forget(object.Name)
		return nil
	}
	now := time.Now()
	change, again := release.Decide(r.facts(crd, now), now)
	if !again.IsZero() {
		r.loop.AddAfter(object, again.Sub(now))
	}
	if change.None() {
		return nil
	}
	_, err := r.extensions.ApiextensionsV1().CustomResourceDefinitions().Patch(ctx, crd.Name, types.JSONPatchType, change.Patch(crd), metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return nil // the cache shows the change soon
	case err != nil:
		return err
	}
	if !change.Stale {
		r.report(crd.Name, change)
	}
	return nil
}

func (r *Releaser) report(crd string, change release.Change) {
	message := change.Message(crd)
	r.log.WithField("customresourcedefinition", crd).WithField("change", message).Info("a change that was held is made")
	if change.For == nil {
		return
	}
	if change.Early != "" {
		r.events.Event(change.For, corev1.EventTypeWarning, managerv1alpha1.EventVersionServedEarly, message)
		return
	}
	r.events.Event(change.For, corev1.EventTypeNormal, managerv1alpha1.EventVersionServed, message)
}

func (r *Releaser) facts(crd *apiextensionsv1.CustomResourceDefinition, now time.Time) release.Facts {
	facts := release.Facts{CRD: crd, Patience: r.Patience}
	missing := slices.ContainsFunc(heldversions.Of(crd).For, func(of types.NamespacedName) bool { return r.caches.CSVs.Get(of.Namespace, of.Name) == nil })
	facts.MissingSince = r.missing.since(crd.Name, missing, now)
	facts.Operators = lists.FilterMap(r.caches.CSVs.By(informers.ByCRD, crd.Name), func(csv *operatorsv1alpha1.ClusterServiceVersion) (release.Operator, bool) {
		return r.operator(csv, crd.Name, now), !csv.IsCopied()
	})
	r.unready.keep(crd.Name, facts.Operators)
	return facts
}

func (r *Releaser) operator(csv *operatorsv1alpha1.ClusterServiceVersion, crd string, now time.Time) release.Operator {
	o := release.Operator{CSV: csv}
	if rollout := r.caches.Rollouts.Get(csv.Namespace, csv.Name); rollout != nil {
		o.Status = rollout.Status
	}
	if conversion.UnreadyConverter(o.Status, crd) != "" {
		o.UnreadySince = r.unready.since(crd, csv.UID, now)
	}
	return o
}
