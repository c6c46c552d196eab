package olmclient

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// WebhookRollouts returns a client. The empty namespace is all, here and for the other kinds.
func (c *Client) WebhookRollouts(namespace string) *gentype.ClientWithList[*managerv1alpha1.WebhookRollout, *managerv1alpha1.WebhookRolloutList] {
	return kind[managerv1alpha1.WebhookRollout, managerv1alpha1.WebhookRolloutList](c.manager, "webhookrollouts", namespace)
}

// OperatorGroups returns the client of the OperatorGroups in a namespace.
func (c *Client) OperatorGroups(namespace string) *gentype.ClientWithList[*operatorsv1.OperatorGroup, *operatorsv1.OperatorGroupList] {
	return kind[operatorsv1.OperatorGroup, operatorsv1.OperatorGroupList](c.operatorsV1, "operatorgroups", namespace)
}

// ClusterServiceVersions returns the client of the ClusterServiceVersions in a namespace.
func (c *Client) ClusterServiceVersions(namespace string) *gentype.ClientWithList[*operatorsv1alpha1.ClusterServiceVersion, *operatorsv1alpha1.ClusterServiceVersionList] {
	return kind[operatorsv1alpha1.ClusterServiceVersion, operatorsv1alpha1.ClusterServiceVersionList](c.operatorsV1alpha1, "clusterserviceversions", namespace)
}

// Subscriptions returns the client of the Subscriptions in a namespace.
func (c *Client) Subscriptions(namespace string) *gentype.ClientWithList[*operatorsv1alpha1.Subscription, *operatorsv1alpha1.SubscriptionList] {
	return kind[operatorsv1alpha1.Subscription, operatorsv1alpha1.SubscriptionList](c.operatorsV1alpha1, "subscriptions", namespace)
}

// InstallPlans returns the client of the InstallPlans in a namespace.
func (c *Client) InstallPlans(namespace string) *gentype.ClientWithList[*operatorsv1alpha1.InstallPlan, *operatorsv1alpha1.InstallPlanList] {
	return kind[operatorsv1alpha1.InstallPlan, operatorsv1alpha1.InstallPlanList](c.operatorsV1alpha1, "installplans", namespace)
}

type object[T any] interface {
	*T
	runtime.Object
	metav1.Object
}

type list[T any] interface {
	*T
	runtime.Object
}

func kind[O, L any, P object[O], Q list[L]](client rest.Interface, resource, namespace string) *gentype.ClientWithList[P, Q] {
	return gentype.NewClientWithList(resource, client, parameters, namespace, func() P { return new(O) }, func() Q { return new(L) })
}
