package e2e

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
)

// startLoad calls the webhook's resource every 20 ms with an object that it denies, without storing anything.
func (e *env) startLoad() *calls.Load {
	e.Helper()
	return calls.Start(e, 20*time.Millisecond, func(ctx context.Context) calls.Call { return e.call(ctx, true) })
}

// call asks for a ConfigMap, without one being stored.
func (e *env) call(ctx context.Context, deniable bool) calls.Call {
	return e.callThrough(ctx, kubeClient, deniable)
}

// callThrough is call by a client of its own.
func (e *env) callThrough(ctx context.Context, client kubernetes.Interface, deniable bool) calls.Call {
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "load-"}}
	if deniable {
		object.Labels = map[string]string{"deny": "true"}
	}
	c := calls.Call{Sent: time.Now()}
	_, c.Err = client.CoreV1().ConfigMaps(e.namespace).Create(ctx, object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	c.Answered = time.Now()
	switch {
	case c.Err == nil:
		c.Outcome = calls.Uncovered
	case strings.Contains(c.Err.Error(), "denied the request: labelled deny=true"):
		c.Outcome = calls.Denied
	default:
		c.Outcome = calls.Failed
	}
	return c
}
