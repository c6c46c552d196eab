// Package olmclient is the client of OLM's kinds and the manager's own. No object of a tenant keeps it from reading others.
package olmclient

import (
	"context"
	"errors"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

var (
	scheme     = newScheme()
	codecs     = serializer.NewCodecFactory(scheme)
	parameters = runtime.NewParameterCodec(scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"}) // Status, and the options of requests.
	builder := runtime.NewSchemeBuilder(managerv1alpha1.AddToScheme, operatorsv1.AddToScheme, operatorsv1alpha1.AddToScheme)
	utilruntime.Must(builder.AddToScheme(s))
	return s
}

// Client has one REST client for each group and version.
type Client struct {
	manager           rest.Interface
	operatorsV1       rest.Interface
	operatorsV1alpha1 rest.Interface
}

// New does not connect: an error means an invalid configuration or an unreadable file.
func New(config *rest.Config) (*Client, error) {
	own := rest.CopyConfig(config)
	if own.UserAgent == "" {
		own.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	connection, err := rest.HTTPClientFor(own)
	if err != nil {
		return nil, err
	}
	return NewFor(own, connection)
}

// NewFor is New with a client that authenticates and connects.
func NewFor(own *rest.Config, connection *http.Client) (*Client, error) {
	lenient := lenientSerializer{rest.CodecFactoryForGeneratedClient(scheme, codecs).WithoutConversion()}
	c, errs := &Client{}, [3]error{}
	c.manager, errs[0] = restClient(own, connection, managerv1alpha1.SchemeGroupVersion, lenient)
	c.operatorsV1, errs[1] = restClient(own, connection, operatorsv1.SchemeGroupVersion, lenient)
	c.operatorsV1alpha1, errs[2] = restClient(own, connection, operatorsv1alpha1.SchemeGroupVersion, lenient)
	return c, errors.Join(errs[:]...)
}

func restClient(config *rest.Config, connection *http.Client, version schema.GroupVersion, s runtime.NegotiatedSerializer) (rest.Interface, error) {
	own := rest.CopyConfig(config)
	own.GroupVersion, own.APIPath, own.NegotiatedSerializer = &version, "/apis", s
	return rest.RESTClientForConfigAndClient(own, connection)
}

// WebhookRollouts returns a client. The empty namespace is all, here and for the other kinds.
func (c *Client) WebhookRollouts(namespace string) *gentype.ClientWithList[*managerv1alpha1.WebhookRollout, *managerv1alpha1.WebhookRolloutList] {
	return kind[managerv1alpha1.WebhookRollout, managerv1alpha1.WebhookRolloutList](c.manager, "webhookrollouts", namespace)
}

// OperatorGroups returns the client of the OperatorGroups in a namespace.
func (c *Client) OperatorGroups(namespace string) *gentype.ClientWithList[*operatorsv1.OperatorGroup, *operatorsv1.OperatorGroupList] {
	return kind[operatorsv1.OperatorGroup, operatorsv1.OperatorGroupList](c.operatorsV1, "operatorgroups", namespace)
}

// OLMConfigs returns the client of the OLMConfigs, which have no namespace.
func (c *Client) OLMConfigs() *gentype.ClientWithList[*operatorsv1.OLMConfig, *operatorsv1.OLMConfigList] {
	return kind[operatorsv1.OLMConfig, operatorsv1.OLMConfigList](c.operatorsV1, "olmconfigs", metav1.NamespaceAll)
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

// Operators returns the client of the Operators, which are cluster-scoped.
func (c *Client) Operators() *gentype.ClientWithList[*operatorsv1.Operator, *operatorsv1.OperatorList] {
	return kind[operatorsv1.Operator, operatorsv1.OperatorList](c.operatorsV1, "operators", metav1.NamespaceAll)
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

// NewInformer covers the namespace of the client, or all, with an index by namespace, and does not resync.
func NewInformer[O any, P object[O], L runtime.Object](client *gentype.ClientWithList[P, L]) cache.SharedIndexInformer {
	return NewSelectingInformer(client, "")
}

// NewSelectingInformer returns an informer of the objects whose labels a selector matches.
func NewSelectingInformer[O any, P object[O], L runtime.Object](client *gentype.ClientWithList[P, L], labels string) cache.SharedIndexInformer {
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = labels
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = labels
			return client.Watch(ctx, options)
		},
	}
	return cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(source, client), P(new(O)),
		cache.SharedIndexInformerOptions{Indexers: cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}},
	)
}

// Informers are informers that are started together.
type Informers []cache.SharedIndexInformer

// StartWithContext runs each informer until the context ends. Call it once: an informer runs once.
func (i Informers) StartWithContext(ctx context.Context) {
	for _, informer := range i {
		go informer.RunWithContext(ctx)
	}
}
