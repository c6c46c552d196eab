package world

import (
	"context"
	"errors"
	"maps"
	"sort"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

const serviceLabel = discoveryv1.LabelServiceName

// writeSlices is the controller of EndpointSlices: one for each Service.
func (w *World) writeSlices(ctx context.Context) error {
	var errs []error
	for _, s := range list(w.objects.services) {
		if len(s.Spec.Selector) > 0 && s.DeletionTimestamp == nil {
			errs = append(errs, w.writeSlice(ctx, s))
		}
	}
	return errors.Join(errs...)
}

func (w *World) writeSlice(ctx context.Context, s *corev1.Service) error {
	desired := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: s.Name + "-1",
			Labels:          sliceLabels(s),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, corev1.SchemeGroupVersion.WithKind("Service"))},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: w.endpoints(s), Ports: portsOf(s),
	}
	slices := w.Kube.DiscoveryV1().EndpointSlices(s.Namespace)
	existing, err := w.objects.slices.EndpointSlices(s.Namespace).Get(desired.Name)
	if err != nil {
		_, err = slices.Create(ctx, desired, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
	if equality.Semantic.DeepEqual(existing.Endpoints, desired.Endpoints) && equality.Semantic.DeepEqual(existing.Ports, desired.Ports) && equality.Semantic.DeepEqual(existing.Labels, desired.Labels) {
		return nil
	}
	changed := existing.DeepCopy()
	changed.Labels, changed.Endpoints, changed.Ports = desired.Labels, desired.Endpoints, desired.Ports
	_, err = slices.Update(ctx, changed, metav1.UpdateOptions{})
	return err
}

// sliceLabels has the labels of the Service, too.
func sliceLabels(s *corev1.Service) map[string]string {
	labels := maps.Clone(s.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	labels[serviceLabel], labels[discoveryv1.LabelManagedBy] = s.Name, "endpointslice-controller.k8s.io"
	return labels
}

func (w *World) endpoints(s *corev1.Service) []discoveryv1.Endpoint {
	selector := labels.SelectorFromSet(s.Spec.Selector)
	all := []discoveryv1.Endpoint{}
	for _, p := range list(w.objects.pods) {
		if p.Namespace != s.Namespace || p.Status.PodIP == "" || !selector.Matches(labels.Set(p.Labels)) {
			continue
		}
		ready := isReady(p) && p.DeletionTimestamp == nil
		all = append(all, discoveryv1.Endpoint{
			Addresses: []string{p.Status.PodIP}, NodeName: &p.Spec.NodeName,
			Conditions: discoveryv1.EndpointConditions{Ready: &ready, Serving: new(isReady(p)), Terminating: new(p.DeletionTimestamp != nil)},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
		})
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Addresses[0] < all[j].Addresses[0] })
	return all
}

func portsOf(s *corev1.Service) []discoveryv1.EndpointPort {
	var all []discoveryv1.EndpointPort
	for _, p := range s.Spec.Ports {
		port := p.TargetPort.IntVal
		if port == 0 {
			port = p.Port
		}
		all = append(all, discoveryv1.EndpointPort{Name: &p.Name, Port: &port, Protocol: &p.Protocol})
	}
	return all
}
