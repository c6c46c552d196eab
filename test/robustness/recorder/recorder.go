// Package recorder writes the history of a simulated cluster.
package recorder

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/apiserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// Recorder observes a cluster: the requests of its API servers, and what world.Observer shows. Its methods may be called concurrently: the order of the events is that of the calls.
type Recorder struct {
	// Role returns what a client is, by its user agent.
	Role func(userAgent string) history.Role

	mutex sync.Mutex
	h     history.History
	// registrations are the last registrations of paths.
	registrations map[path]registration
}

// New returns a recorder. The suffix probes is that of history.History.
func New(role func(userAgent string) history.Role, probes string) *Recorder {
	return &Recorder{Role: role, h: history.History{Probes: probes, Clients: map[string]history.Role{}}, registrations: map[path]registration{}}
}

// History returns what was recorded so far.
func (r *Recorder) History() history.History {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return history.History{Clients: r.h.Clients, Probes: r.h.Probes, Events: append([]history.Event(nil), r.h.Events...)}
}

func (r *Recorder) add(e history.Event) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	e.At = time.Now()
	r.h.Events = append(r.h.Events, e)
}

func (r *Recorder) client(userAgent string) string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.h.Clients[userAgent] = r.Role(userAgent)
	return userAgent
}

// Write implements apiserver.Recorder.
func (r *Recorder) Write(w apiserver.Write) {
	before, errBefore := apiserver.Decode(w.Before)
	after, errAfter := apiserver.Decode(w.After)
	if errBefore != nil || errAfter != nil {
		return // it is no object
	}
	written := history.Write{Client: r.client(w.UserAgent), Verb: w.Info.Verb, Revision: w.Revision}
	if before != nil {
		written.Object, written.Before = refOf(before), before.Object
	}
	if after != nil {
		written.Object, written.After = refOf(after), after.Object
		r.register(written.Object, after.Object)
	}
	r.add(history.Event{Write: &written})
}

// Read implements apiserver.Recorder.
func (r *Recorder) Read(q apiserver.Request) {
	kind, known := kinds[q.Info.Resource]
	if !known || q.Info.Verb != "get" && q.Info.Verb != "list" {
		return
	}
	object := history.Ref{Kind: kind, Namespace: q.Info.Namespace, Name: q.Info.Name}
	r.add(history.Event{Read: &history.Read{Client: r.client(q.UserAgent), Object: object, Live: q.Live()}})
}

// kinds are those whose reads matter to the judge, by resource.
var kinds = map[string]string{"pods": "Pod", "secrets": "Secret"}

// Uses implements world.Observer.
func (r *Recorder) Uses(v history.View) { r.add(history.Event{View: &v}) }

// Serves implements world.Observer.
func (r *Recorder) Serves(s history.Serving) { r.add(history.Event{Serving: &s}) }

// Asks implements world.Observer.
func (r *Recorder) Asks(client string, pod history.Ref) {
	r.add(history.Event{Handshake: &history.Handshake{Client: r.client(client), Pod: pod, Verified: true}})
}

// Condition records the begin or the end of a condition.
func (r *Recorder) Condition(c history.Condition) { r.add(history.Event{Condition: &c}) }

func refOf(o *unstructured.Unstructured) history.Ref {
	return history.Ref{Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID())}
}
