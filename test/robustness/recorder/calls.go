package recorder

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// path is what a call is sent to.
type path struct{ namespace, service, path string }

// registration is a webhook of a configuration.
type registration struct {
	object  history.Ref
	webhook string
}

// Call implements apiserver.Recorder. A call does not name its registration: it is the last one with its path.
func (r *Recorder) Call(c apiserver.Call) {
	if c.About == nil {
		return
	}
	r.mutex.Lock()
	registered := r.registrations[path{c.Namespace, c.Service, c.Path}]
	r.mutex.Unlock()
	call := &history.Call{
		APIServer: c.Server, Registration: registered.object, Webhook: registered.webhook, Sent: c.Sent, Outcome: history.Answered,
		Service: history.Ref{Kind: "Service", Namespace: c.Namespace, Name: c.Service},
		About:   history.Ref{Kind: c.About.Kind.Kind, Namespace: c.About.Namespace, Name: c.About.Name},
	}
	if c.Err != nil {
		call.Outcome, call.Error = history.Failed, c.Err.Error()
	}
	r.add(history.Event{Call: call})
}

// register remembers the paths of a webhook configuration.
func (r *Recorder) register(ref history.Ref, object history.Object) {
	if ref.Kind != "ValidatingWebhookConfiguration" && ref.Kind != "MutatingWebhookConfiguration" {
		return
	}
	webhooks, _, _ := unstructured.NestedSlice(object, "webhooks") // the API server has validated it
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, w := range webhooks {
		webhook, _ := w.(map[string]any)
		field := func(names ...string) string {
			value, _, _ := unstructured.NestedString(webhook, names...)
			return value
		}
		if service := field("clientConfig", "service", "name"); service != "" {
			at := path{field("clientConfig", "service", "namespace"), service, field("clientConfig", "service", "path")}
			r.registrations[at] = registration{ref, field("name")}
		}
	}
}
