// Package cluster reads a cluster for the commands. Packages without a client judge what it returns.
package cluster

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	apiregistrationhelper "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmclient"
)

// Cluster reads a cluster with the permissions of one user.
type Cluster struct {
	Config     *rest.Config
	Kube       kubernetes.Interface
	OLM        *olmclient.Client
	Extensions apiextensions.Interface
	Aggregator aggregator.Interface
	Metadata   metadata.Interface
	Dynamic    dynamic.Interface
}

// New is the cluster of a configuration.
func New(config *rest.Config) (*Cluster, error) {
	var errs [6]error
	c := &Cluster{Config: config}
	c.Kube, errs[0] = kubernetes.NewForConfig(config)
	c.OLM, errs[1] = olmclient.New(config)
	c.Extensions, errs[2] = apiextensions.NewForConfig(config)
	c.Aggregator, errs[3] = aggregator.NewForConfig(config)
	c.Metadata, errs[4] = metadata.NewForConfig(config)
	c.Dynamic, errs[5] = dynamic.NewForConfig(config)
	return c, cmp.Or(errs[:]...)
}

// Examine also asks every pod behind a webhook for its certificate, directly or through the API server. It returns an
// error if it is interrupted: the answers are incomplete then.
func (c *Cluster) Examine(ctx context.Context, direct bool) (doctor.Facts, error) {
	facts, backends, err := c.webhooks(ctx)
	if err != nil {
		return facts, err
	}
	if err := c.workloads(ctx, facts.Services); err != nil {
		return facts, err
	}
	facts.Answers, err = c.answers(ctx, facts.Webhooks, backends, direct)
	return facts, err
}

// Dial asks the pods behind some webhooks for their certificates, through the API server.
func (c *Cluster) Dial(ctx context.Context, webhooks []doctor.Webhook) (map[string][]doctor.Answer, error) {
	backends, err := readEach(ctx, calledServices(webhooks), c.backend)
	if err != nil {
		return nil, err
	}
	return c.answers(ctx, webhooks, backends, false)
}

// answers are incomplete if the context ends.
func (c *Cluster) answers(ctx context.Context, webhooks []doctor.Webhook, backends map[types.NamespacedName]backend, direct bool) (map[string][]doctor.Answer, error) {
	all := map[string][]doctor.Answer{}
	for _, w := range webhooks {
		if b := backends[w.Service]; b.service != nil && w.URL == "" {
			all[w.String()] = c.probe(ctx, w, b, direct)
		}
	}
	return all, ctx.Err()
}

func (c *Cluster) webhooks(ctx context.Context) (doctor.Facts, map[types.NamespacedName]backend, error) {
	facts := doctor.Facts{Services: map[types.NamespacedName]doctor.Service{}, Namespaces: map[string]map[string]string{}}
	validating, err := c.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return facts, nil, err
	}
	mutating, err := c.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return facts, nil, err
	}
	crds, err := c.Extensions.ApiextensionsV1().CustomResourceDefinitions().List(ctx, metav1.ListOptions{})
	if err != nil {
		return facts, nil, err
	}
	namespaces, err := c.Kube.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return facts, nil, err
	}
	for _, n := range namespaces.Items {
		facts.Namespaces[n.Name] = n.Labels
	}
	apis, err := c.apiServices(ctx)
	if err != nil {
		return facts, nil, err
	}
	facts.Webhooks = append(doctor.Webhooks(validating.Items, mutating.Items, crds.Items), apis...)
	if facts.Owners, facts.NoCSVs, err = c.owners(ctx); err != nil {
		return facts, nil, err
	}
	if facts.ControlPlane, err = c.controlPlane(ctx); err != nil {
		return facts, nil, err
	}
	backends, err := c.backends(ctx, facts)
	return facts, backends, err
}

// apiServices returns the APIServices with a Service: they are called, and fail, as webhooks do.
func (c *Cluster) apiServices(ctx context.Context) ([]doctor.Webhook, error) {
	list, err := c.Aggregator.ApiregistrationV1().APIServices().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, utilerrors.FilterOut(err, apierrors.IsNotFound) // The API server may stand alone.
	}
	var all []doctor.Webhook
	for _, a := range list.Items {
		if a.Spec.Service == nil {
			continue
		}
		w := doctor.Webhook{
			Kind: doctor.APIService, Object: a.Name, Written: a.CreationTimestamp.Time, Owner: doctor.OwnerOf(a.ObjectMeta), Fails: true,
			Service: types.NamespacedName{Namespace: a.Spec.Service.Namespace, Name: a.Spec.Service.Name},
			Port:    ptr.Deref(a.Spec.Service.Port, 443), CABundle: a.Spec.CABundle, Unverified: a.Spec.InsecureSkipTLSVerify,
		}
		if c := apiregistrationhelper.GetAPIServiceConditionByType(&a, apiregistrationv1.Available); c != nil {
			w.Available, w.Report = metav1.ConditionStatus(c.Status), c.Message
		}
		all = append(all, w)
	}
	return all, nil
}

// owners are the existing ClusterServiceVersions, as labels name them.
func (c *Cluster) owners(ctx context.Context) (owners map[types.NamespacedName]bool, unknown bool, err error) {
	owners = map[types.NamespacedName]bool{}
	list, err := c.Metadata.Resource(ClusterServiceVersions).List(ctx, metav1.ListOptions{})
	if err != nil {
		unknown, err = c.isUnknownKind(ctx, err, ClusterServiceVersions)
		return owners, unknown, err
	}
	for _, csv := range list.Items {
		if marks := csvspec.MarksOf(&csv); !marks.Labelled || marks.Finalized { // a copy owns nothing
			owners[doctor.OwnerNamed(csv.Namespace, csv.Name)] = true
		}
	}
	return owners, false, nil
}

// csvs are the ClusterServiceVersions of a namespace, except copies. A cluster need not know the kind.
func (c *Cluster) csvs(ctx context.Context, namespace string) (all []operatorsv1alpha1.ClusterServiceVersion, unknown bool, err error) {
	list, err := c.OLM.ClusterServiceVersions(namespace).List(ctx, metav1.ListOptions{LabelSelector: csvspec.SelectUnlabelled})
	if err != nil {
		unknown, err = c.isUnknownKind(ctx, err, ClusterServiceVersions)
		return nil, unknown, err
	}
	return list.Items, false, nil
}

// What shells may ask the names of.
var (
	Namespaces             = corev1.SchemeGroupVersion.WithResource("namespaces")
	Definitions            = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	ClusterServiceVersions = operatorsv1alpha1.SchemeGroupVersion.WithResource("clusterserviceversions")
)

// Names are those of all objects of a resource, in one namespace where it is not empty.
func (c *Cluster) Names(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]string, error) {
	list, err := c.Metadata.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return lists.Map(list.Items, func(object metav1.PartialObjectMetadata) string { return object.Name }), nil
}
