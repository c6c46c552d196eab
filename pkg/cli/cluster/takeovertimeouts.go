package cluster

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// timeoutOfConversions is that of API servers. It cannot be changed.
const timeoutOfConversions = 30 * time.Second

// Timeouts returns the timeouts of calls, by webhook as in Calls. If several webhooks have a name, it is the shortest.
func (c TakeoverReader) Timeouts(ctx context.Context) (map[string]time.Duration, error) {
	all := map[string]time.Duration{}
	add := func(webhook string, seconds *int32) {
		timeout := time.Duration(ptr.Deref(seconds, 10)) * time.Second
		if known, exists := all[webhook]; !exists || timeout < known {
			all[webhook] = timeout
		}
	}
	validating, err := c.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, item := range validating.Items {
		for _, w := range item.Webhooks {
			add(w.Name, w.TimeoutSeconds)
		}
	}
	mutating, err := c.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, item := range mutating.Items {
		for _, w := range item.Webhooks {
			add(w.Name, w.TimeoutSeconds)
		}
	}
	definitions, err := c.Metadata.Resource(Definitions).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, crd := range definitions.Items {
		all[conversionOf(crd.Name)] = timeoutOfConversions
	}
	return all, nil
}
