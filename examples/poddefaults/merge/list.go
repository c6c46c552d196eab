package merge

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
)

// list merges items that have a key. An equal item is ignored, and another item with the key is a conflict.
type list[T any] struct {
	field string
	of    func(*v1alpha1.PodDefaultSpec) []T
	key   func(T) string
	// complete returns a copy with the defaults of the API server, for the comparison with an item of the pod.
	complete func(T) T
}

var (
	env = list[corev1.EnvVar]{
		"env",
		func(s *v1alpha1.PodDefaultSpec) []corev1.EnvVar { return s.Env },
		func(v corev1.EnvVar) string { return v.Name },
		completeEnvVar,
	}
	volumes = list[corev1.Volume]{
		"volumes",
		func(s *v1alpha1.PodDefaultSpec) []corev1.Volume { return s.Volumes },
		func(v corev1.Volume) string { return v.Name },
		completeVolume,
	}
	tolerations = list[corev1.Toleration]{
		"tolerations",
		func(s *v1alpha1.PodDefaultSpec) []corev1.Toleration { return s.Tolerations },
		func(t corev1.Toleration) string { return t.Key },
		asItIs[corev1.Toleration],
	}
	imagePullSecrets = list[corev1.LocalObjectReference]{
		"imagePullSecrets",
		func(s *v1alpha1.PodDefaultSpec) []corev1.LocalObjectReference { return s.ImagePullSecrets },
		func(r corev1.LocalObjectReference) string { return r.Name },
		asItIs[corev1.LocalObjectReference],
	}
	initContainers = list[corev1.Container]{
		"initContainers",
		func(s *v1alpha1.PodDefaultSpec) []corev1.Container { return s.InitContainers },
		func(c corev1.Container) string { return c.Name },
		completeContainer,
	}
	sidecars = list[corev1.Container]{
		"sidecars",
		func(s *v1alpha1.PodDefaultSpec) []corev1.Container { return s.Sidecars },
		func(c corev1.Container) string { return c.Name },
		completeContainer,
	}
)

type held[T any] struct {
	item  T
	owner owner
}

// merge ignores an item that is equal to any item of the pod with its key.
func (l list[T]) merge(m *merger, where place, existing []T) []T {
	merged := existing
	byKey := map[string][]held[T]{}
	for _, item := range existing {
		byKey[l.key(item)] = append(byKey[l.key(item)], held[T]{l.complete(item), thePod})
	}
	for _, d := range m.podDefaults {
		for _, item := range l.of(&d.Spec) {
			key, desired := l.key(item), l.complete(item)
			if len(byKey[key]) == 0 {
				merged = append(merged, item)
				byKey[key] = []held[T]{{desired, owner(d.Name)}}
				continue
			}
			if slices.ContainsFunc(byKey[key], func(h held[T]) bool { return isEqual(h.item, desired) }) {
				continue
			}
			other := byKey[key][0]
			m.conflict(Conflict{
				PodDefault: d.Name, Field: l.field, Key: key,
				Problem: differs(desired, other.item, other.owner.at(where)),
			})
		}
	}
	return merged
}

func asItIs[T any](item T) T { return item }
