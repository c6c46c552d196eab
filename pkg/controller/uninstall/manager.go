package uninstall

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/coexistence"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/live"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// Manager prepares the deletion of the manager. It deletes the policy for CustomResourceDefinitions.
// It unregisters all webhooks, because their certificates are not renewed any more, revokes lifted
// permissions, and removes the finalizers from the ClusterServiceVersions. Operators continue to run.
// If objects need a conversion webhook, or
// the API server refuses to remove a registration, the finalizer of that ClusterServiceVersion stays,
// and the error has the next step.
//
// The manager must be stopped: it would revert the changes. Namespaces are the ones that it was
// limited to; none means all. OLM v0 has the same finalizer and the same labels, so an OLM v0 that
// works in one of the namespaces is an error.
func Manager(ctx context.Context, set clients.Set, log *logrus.Entry, namespaces ...string) error {
	if err := coexistence.RefuseOLM(ctx, set.Kube, namespaces); err != nil {
		return err
	}
	c := &Uninstaller{Set: set, Log: log, Namespaces: namespaces, Live: &live.Reader{Set: set, Log: log}, Writer: &write.Writer{Set: set, Now: time.Now}}
	if err := c.deleteCRDPolicy(ctx); err != nil {
		return err
	}
	csvs, err := c.finalizedCSVs(ctx)
	if err != nil {
		return err
	}
	return c.stopManagingAll(ctx, csvs)
}

// stopManagingAll lists the definitions once, because there can be many ClusterServiceVersions.
func (u *Uninstaller) stopManagingAll(ctx context.Context, csvs []*operatorsv1alpha1.ClusterServiceVersion) error {
	if len(csvs) == 0 {
		return nil
	}
	crds, err := u.Live.AllDefinitions(ctx)
	if err != nil {
		return err
	}
	var held HeldError
	for _, csv := range csvs {
		inUse, refused, err := u.stopManagingLatest(ctx, csv, crds)
		if err != nil {
			return fmt.Errorf("ClusterServiceVersion %s/%s: %w", csv.Namespace, csv.Name, err)
		}
		if why := Held(inUse, refused); why != "" {
			held.Held = append(held.Held, fmt.Sprintf("ClusterServiceVersion %s/%s: %s", csv.Namespace, csv.Name, why))
		}
		held.Refused = append(held.Refused, refused...)
	}
	if len(held.Held) > 0 {
		return held
	}
	return nil
}

// HeldError names the ClusterServiceVersions that are still managed, and why.
type HeldError struct {
	Held []string
	// Refused has the requests that the API server refused, which Held names as well.
	Refused RefusedError
}

func (e HeldError) Error() string {
	return "the finalizers of these ClusterServiceVersions stay, because not everything could be removed. Do what is listed for each, then run the command again:\n  " + strings.Join(e.Held, "\n  ")
}

// finalizedCSVs returns only those in the manager's namespaces.
func (u *Uninstaller) finalizedCSVs(ctx context.Context) (all []*operatorsv1alpha1.ClusterServiceVersion, err error) {
	namespaces := u.Namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		list, err := u.OLM.ClusterServiceVersions(namespace).List(ctx, metav1.ListOptions{LabelSelector: csvspec.SelectUnlabelled})
		if err != nil {
			return nil, err
		}
		labelled, err := u.labelledOriginals(ctx, namespace)
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, live.Pointers(list.Items), labelled)
	}
	return slices.DeleteFunc(all, isReleased), nil
}

// labelledOriginals returns originals that only have the label of copies. There can be thousands of copies.
func (u *Uninstaller) labelledOriginals(ctx context.Context, namespace string) (all []*operatorsv1alpha1.ClusterServiceVersion, err error) {
	client := u.Metadata.Resource(operatorsv1alpha1.SchemeGroupVersion.WithResource("clusterserviceversions")).Namespace(namespace)
	list, err := client.List(ctx, metav1.ListOptions{LabelSelector: csvspec.SelectLabelled})
	if err != nil {
		return nil, err
	}
	for _, labelled := range list.Items {
		if !csvspec.MarksOf(&labelled).Finalized {
			continue
		}
		csv, err := u.OLM.ClusterServiceVersions(labelled.Namespace).Get(ctx, labelled.Name, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
		if err == nil {
			all = append(all, csv)
		}
	}
	return all, nil
}

// stopManagingLatest reads everything again after a conflict: writes name the version of the object that was read.
func (u *Uninstaller) stopManagingLatest(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, crds definitions) (inUse string, refused RefusedError, err error) {
	conflicts := func(err error) bool { return apierrors.IsConflict(err) && !write.IsDenied(err) }
	err = retry.OnError(retry.DefaultBackoff, conflicts, func() (err error) {
		inUse, refused, err = u.stopManaging(ctx, csv, crds)
		if !conflicts(err) {
			return err
		}
		latest, failed := u.OLM.ClusterServiceVersions(csv.Namespace).Get(ctx, csv.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(failed) || failed == nil && isReleased(latest):
			return nil
		case failed != nil:
			return failed
		}
		csv = latest
		return err
	})
	return inUse, refused, err
}

// isReleased is true for copies, which have no finalizer.
func isReleased(csv *operatorsv1alpha1.ClusterServiceVersion) bool {
	return !slices.Contains(csv.Finalizers, wellknown.FinalizerCSV)
}

// stopManaging returns why the finalizer stays: a conversion in use, and refused requests.
func (u *Uninstaller) stopManaging(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, crds definitions) (inUse string, refused RefusedError, err error) {
	ownership, err := u.Live.OwnershipOf(ctx, csv)
	if err != nil {
		return "", nil, err
	}
	_, err = u.Unregister(ctx, csv, nil, owners.Backends{}, ownership)
	if refused, err = Refusals(err); err != nil {
		return "", nil, err
	}
	inUse, err = u.endAllConversions(ctx, csv, crds)
	conversions, err := Refusals(err)
	if err != nil {
		return "", nil, err
	}
	if refused = append(refused, conversions...); inUse != "" || len(refused) > 0 {
		return inUse, refused, nil
	}
	refused, err = Refusals(u.release(ctx, csv, ownership))
	return "", refused, err
}

// release removes the finalizer last.
func (u *Uninstaller) release(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, ownership owners.Ownership) error {
	if err := u.deleteDelegations(ctx, csv, ownership); err != nil {
		return err
	}
	if err := u.deleteBudgets(ctx, csv, true); err != nil {
		return err
	}
	if err := u.removeDefinitionOwners(ctx, csv, true); err != nil {
		return err
	}
	// The operator continues to run with the permissions of its installer.
	if err := u.deletePermissions(ctx, csv, liftedFor(csv), ownership); err != nil {
		return err
	}
	if err := u.removeFinalizer(ctx, csv); err != nil {
		return err
	}
	u.Log.WithFields(queue.CSVKey(csv.Namespace, csv.Name).Fields()).Info("webhooks are unregistered and the finalizer is removed")
	return nil
}

// definitions are all CustomResourceDefinitions, by name.
type definitions = map[string]*apiextensionsv1.CustomResourceDefinition

// endAllConversions lists the definitions again if one has changed, or was deleted, since.
func (u *Uninstaller) endAllConversions(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, crds definitions) (inUse string, err error) {
	services, err := u.Live.Services(ctx, csv.Namespace)
	if err != nil {
		return "", err
	}
	written, inUse, err := u.EndConversions(ctx, csv, services, crds)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		fresh, err := u.Live.AllDefinitions(ctx)
		if err != nil {
			return "", err
		}
		clear(crds)
		maps.Copy(crds, fresh)
		_, inUse, err = u.EndConversions(ctx, csv, services, crds)
		return inUse, err
	}
	for _, o := range written {
		crds[o.GetName()] = o.(*apiextensionsv1.CustomResourceDefinition)
	}
	return inUse, err
}
