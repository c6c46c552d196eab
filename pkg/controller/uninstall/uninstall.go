// Package uninstall unregisters webhooks, and removes what garbage collection does not.
package uninstall

import (
	"context"
	"slices"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/record"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Uninstaller unregisters webhooks, and removes what garbage collection does not.
type Uninstaller struct {
	clients.Set
	LiftRoles  bool
	Namespaces []string
	Events     record.EventRecorder
	Log        *logrus.Entry
	Live       *live.Reader
	Writer     *write.Writer
}

// Finish removes what outlives a ClusterServiceVersion, and then the finalizer.
func (u *Uninstaller) Finish(ctx context.Context, csv, successor *operatorsv1alpha1.ClusterServiceVersion, kept bool, ownership owners.Ownership) error {
	if err := u.deleteDelegations(ctx, csv, ownership); err != nil {
		return err
	}
	if err := u.deleteBudgets(ctx, csv, false); err != nil {
		return err
	}
	if kept {
		orphaned, err := u.orphaned(ctx, csv)
		if err != nil {
			return err
		}
		if err := u.removeDefinitionOwners(ctx, csv, orphaned); err != nil {
			return err
		}
	}
	if err := u.transferPermissions(ctx, csv, successor, ownership); err != nil {
		return err
	}
	if err := u.deletePermissions(ctx, csv, permissionsOf(csv), ownership); err != nil {
		return err
	}
	if err := u.deleteRollout(ctx, csv); err != nil {
		return err
	}
	return u.removeFinalizer(ctx, csv)
}

// send stops at the first error, but continues after refusals, which are a RefusedError. It returns the writes.
func (u *Uninstaller) send(ctx context.Context, namespace string, steps []rollout.Step) (all []drift.Object, err error) {
	var refused RefusedError
	sender := &write.Sender{Writer: u.Writer}
	for _, step := range steps {
		written, _, err := sender.Send(ctx, namespace, step)
		if err == nil {
			all = append(all, written)
			continue
		}
		causes, err := Refusals(refusal(string(step.Verb), step.Key(), err))
		if err != nil {
			return all, err
		}
		refused = append(refused, causes...)
	}
	if len(refused) > 0 {
		return all, refused
	}
	return all, nil
}

// deleteProven deletes the objects that belong to a ClusterServiceVersion, and reports the others.
func (u *Uninstaller) deleteProven(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, objects []drift.Object, ownership owners.Ownership) error {
	steps := lists.Map(owners.Proven(ownership, objects), func(o drift.Object) rollout.Step { return rollout.Step{Verb: rollout.Delete, Object: o} })
	if _, err := u.send(ctx, "", steps); err != nil {
		return err
	}
	u.reportLeft(csv, slices.DeleteFunc(slices.Clone(objects), func(o drift.Object) bool { return ownership.Proves(o) }))
	return nil
}

// deleteRollout also deletes on an orphaning deletion, which keeps the operator only.
func (u *Uninstaller) deleteRollout(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) error {
	err := u.OLM.WebhookRollouts(csv.Namespace).Delete(ctx, csv.Name, metav1.DeleteOptions{})
	return refusal("delete", "WebhookRollout "+csv.Namespace+"/"+csv.Name, utilerrors.FilterOut(err, apierrors.IsNotFound))
}

func (u *Uninstaller) removeFinalizer(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) error {
	rest := slices.DeleteFunc(slices.Clone(csv.Finalizers), func(f string) bool { return f == wellknown.FinalizerCSV })
	_, err := write.Metadata(ctx, u.OLM.ClusterServiceVersions(csv.Namespace), csv, map[string]any{"finalizers": rest})
	return refusal("remove the finalizer of", drift.KeyOf(csv), utilerrors.FilterOut(err, apierrors.IsNotFound))
}
