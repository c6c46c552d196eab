package installer

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

type operatorReader struct{ olm *olmclient.Client }

// versions are the installed ClusterServiceVersions of these names, copies left out.
func (r operatorReader) versions(ctx context.Context, namespace string, names []string) ([]operatorsv1alpha1.ClusterServiceVersion, error) {
	csvs, err := r.csvs(ctx, namespace)
	return slices.DeleteFunc(csvs, func(csv operatorsv1alpha1.ClusterServiceVersion) bool { return !slices.Contains(names, csv.Name) }), err
}

// csvs returns the ClusterServiceVersions of a namespace, copies left out.
func (r operatorReader) csvs(ctx context.Context, namespace string) ([]operatorsv1alpha1.ClusterServiceVersion, error) {
	list, err := r.olm.ClusterServiceVersions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, unreadableKinds(err)
	}
	return slices.DeleteFunc(list.Items, func(csv operatorsv1alpha1.ClusterServiceVersion) bool { return csv.IsCopied() }), nil
}

func (r operatorReader) operatorGroups(ctx context.Context, namespace string) ([]operatorsv1.OperatorGroup, error) {
	list, err := r.olm.OperatorGroups(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, unreadableKinds(err)
	}
	return list.Items, nil
}

func (r operatorReader) subscriptions(ctx context.Context, namespace string) ([]operatorsv1alpha1.Subscription, error) {
	list, err := r.olm.Subscriptions(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

func unreadableKinds(err error) error {
	return fmt.Errorf("the manager's kinds are not installed in this cluster, or may not be read: %w", err)
}
