package uninstall

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
)

// removeDefinitionOwners reads the API server, because a cache may lack an object.
func (u *Uninstaller) removeDefinitionOwners(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, orphaned bool) error {
	crds, err := u.Live.Definitions(ctx, csvspec.ConversionCRDs(csv))
	if err != nil {
		return err
	}
	converted := map[string]bool{}
	for name, crd := range crds {
		namespace, _ := owners.ConvertedBy(crd)
		converted[name] = namespace == csv.Namespace
	}
	for _, k := range owners.Kinds {
		list, err := u.Metadata.Resource(k.Resource).Namespace(csv.Namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
			continue // the cluster has no such kind
		}
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := u.cleanUp(ctx, k, &list.Items[i], owners.CleanupOf(&list.Items[i], csv, orphaned, converted)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (u *Uninstaller) cleanUp(ctx context.Context, k owners.Kind, o metav1.Object, cleanup owners.Cleanup) error {
	switch cleanup {
	case owners.Ignore:
		return nil
	case owners.Release:
		return refusal("change the owner references of", k.Name+" "+o.GetNamespace()+"/"+o.GetName(), u.Writer.SetOwners(ctx, k, o, owners.WithoutDefinitionOwners(o)))
	default:
		err := u.Metadata.Resource(k.Resource).Namespace(o.GetNamespace()).Delete(ctx, o.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(o.GetUID()))})
		return refusal("delete", k.Name+" "+o.GetNamespace()+"/"+o.GetName(), utilerrors.FilterOut(err, apierrors.IsNotFound))
	}
}

// orphaned reports whether the objects of a ClusterServiceVersion are to stay.
func (u *Uninstaller) orphaned(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (bool, error) {
	record, err := u.OLM.WebhookRollouts(csv.Namespace).Get(ctx, csv.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		record, err = nil, nil
	}
	return err == nil && owners.OrphansDependents(csv, record), err
}
