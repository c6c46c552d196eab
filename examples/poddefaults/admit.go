package main

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

type injector struct {
	in func(namespace string) *podDefaults
}

func (i injector) admit(_ context.Context, r hosting.Request[*corev1.Pod]) error {
	there := i.in(cmp.Or(r.Object.Namespace, r.Namespace))
	for _, name := range there.broken {
		r.Warn("PodDefault %.64q is not applied to any pod, as it is not valid", name)
	}
	selected := merge.Select(r.Object, r.Namespace, there.usable)
	if len(selected) == 0 {
		return nil
	}
	if err := merge.Apply(r.Object, selected); err != nil {
		return hosting.Deny("%v", err)
	}
	r.Annotate("applied", merge.Names(selected))
	return nil
}
