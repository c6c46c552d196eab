package cluster

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

type backend struct {
	service *corev1.Service
	slices  []*discoveryv1.EndpointSlice
}

// parallelReads is how many Services are read at once.
const parallelReads = 16

// backends also adds the Services to the facts.
func (c *Cluster) backends(ctx context.Context, facts doctor.Facts) (map[types.NamespacedName]backend, error) {
	type both struct {
		backend
		read doctor.Service
	}
	all, err := readEach(ctx, calledServices(facts.Webhooks), func(ctx context.Context, name types.NamespacedName) (both, error) {
		b, err := c.backend(ctx, name)
		if err != nil || b.service == nil {
			return both{}, err
		}
		service, err := c.service(ctx, b)
		return both{b, service}, err
	})
	backends := map[types.NamespacedName]backend{}
	for name, one := range all {
		if one.service != nil {
			backends[name], facts.Services[name] = one.backend, one.read
		}
	}
	return backends, err
}

// readEach reads something of each object, several at once.
func readEach[T any](ctx context.Context, names []types.NamespacedName, read func(context.Context, types.NamespacedName) (T, error)) (map[types.NamespacedName]T, error) {
	var mu sync.Mutex
	all := map[types.NamespacedName]T{}
	reads, ctx := errgroup.WithContext(ctx)
	reads.SetLimit(parallelReads)
	for _, name := range names {
		reads.Go(func() error {
			one, err := read(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			all[name] = one
			return err
		})
	}
	return all, reads.Wait()
}

func calledServices(webhooks []doctor.Webhook) []types.NamespacedName {
	return lists.Distinct(lists.FilterMap(webhooks, func(w doctor.Webhook) (types.NamespacedName, bool) { return w.Service, w.URL == "" }))
}

// backend has no service if the Service does not exist.
func (c *Cluster) backend(ctx context.Context, name types.NamespacedName) (backend, error) {
	service, err := c.Kube.CoreV1().Services(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	if err != nil {
		return backend{}, utilerrors.FilterOut(err, apierrors.IsNotFound)
	}
	endpoints, err := c.Kube.DiscoveryV1().EndpointSlices(name.Namespace).List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + name.Name})
	if err != nil {
		return backend{}, err
	}
	b := backend{service: service}
	for i := range endpoints.Items {
		b.slices = append(b.slices, &endpoints.Items[i])
	}
	return b, nil
}

func (c *Cluster) service(ctx context.Context, b backend) (doctor.Service, error) {
	spec := b.service.Spec
	s := doctor.Service{
		By: route.Of(b.service), ExternalName: spec.ExternalName, NodeLocal: route.NodeLocal(b.service), Ports: map[int32]int{}, Labels: b.service.Labels, Selector: spec.Selector,
		Owner: doctor.OwnerOf(b.service.ObjectMeta), ExternalEndpoints: len(spec.Selector) == 0,
	}
	pods := new(corev1.PodList)
	if !s.ExternalEndpoints {
		var err error
		pods, err = c.Kube.CoreV1().Pods(b.service.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(b.service.Spec.Selector).String()})
		if apierrors.IsForbidden(err) {
			s.Unread, err = append(s.Unread, doctor.Pods), nil
		}
		if err != nil {
			return s, err
		}
	}
	s.Pods = doctor.LivePods(pods.Items)
	leftOver := func(ref *corev1.ObjectReference) bool {
		return !s.ExternalEndpoints && !s.PodsUnread() && doctor.LeftOver(ref, pods.Items)
	}
	for _, port := range spec.Ports {
		s.Ports[port.Port] = len(slices.DeleteFunc(route.Behind(b.service, port.Port, b.slices).Ready, func(e route.Endpoint) bool { return leftOver(e.Ref) }))
	}
	for _, slice := range b.slices {
		s.Slices = append(s.Slices, slice.Labels)
		for _, e := range slice.Endpoints {
			switch {
			case !route.Ready(e):
			case leftOver(e.TargetRef):
				s.LeftOver += len(e.Addresses)
			default:
				s.Ready += len(e.Addresses)
			}
		}
	}
	return s, nil
}
