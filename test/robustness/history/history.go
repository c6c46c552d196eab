// Package history is the record of a run: what clients wrote and read, what API servers called, what pods served, and what
// the manager reported, in one total order. It says nothing of why.
package history

import "time"

// History is one run. The order of the events is their order; two events may have one time.
type History struct {
	// Clients are the programs and people that write, by their name in the events.
	Clients map[string]Role `json:"clients"`
	// Probes is a suffix of names of webhooks. Such a webhook with an objectSelector is not judged: it intercepts only dry
	// runs with which the manager asks API servers what they use.
	Probes string  `json:"probes,omitempty"`
	Events []Event `json:"events,omitempty"`
}

// Role is what a client is for the manager.
type Role string

// The roles of clients.
const (
	// Manager is the program that is judged.
	Manager Role = "Manager"
	// Author writes ClusterServiceVersions: people, catalogs, tools that apply bundles.
	Author Role = "Author"
	// Administrator gives orders to the manager.
	Administrator Role = "Administrator"
	// ControlPlane are API servers, kubelets and the controllers of Kubernetes.
	ControlPlane Role = "ControlPlane"
	// Neighbour is any other client.
	Neighbour Role = "Neighbour"
)

// Event is one thing that happened. Exactly one of the pointers is set.
type Event struct {
	At time.Time `json:"at"`

	Write     *Write     `json:"write,omitempty"`
	Read      *Read      `json:"read,omitempty"`
	View      *View      `json:"view,omitempty"`
	Serving   *Serving   `json:"serving,omitempty"`
	Handshake *Handshake `json:"handshake,omitempty"`
	Call      *Call      `json:"call,omitempty"`
	Message   *Message   `json:"message,omitempty"`
	Condition *Condition `json:"condition,omitempty"`
}

// Ref identifies an object. UID is empty where the event does not know it.
type Ref struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	UID       string `json:"uid,omitempty"`
}

// String returns the kind and the name.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// Key returns the reference without the uid: what has the same key has the same name.
func (r Ref) Key() Ref { r.UID = ""; return r }

// Object is an object as JSON has it.
type Object = map[string]any

// Write is a change of an object that was stored. A request that changed nothing, and a dry run, is none.
type Write struct {
	Client string `json:"client"`
	Verb   string `json:"verb"`
	Object Ref    `json:"object"`
	// Revision is the resourceVersion that the write gave.
	Revision int64 `json:"revision"`
	// Before is nil for a creation; After is nil for a deletion.
	Before Object `json:"before,omitempty"`
	After  Object `json:"after,omitempty"`
}

// Read is a read whose answer a client received. A list has no name.
type Read struct {
	Client string `json:"client"`
	Object Ref    `json:"object"`
	// Live is set if the answer is not older than the request.
	Live bool `json:"live"`
}

// View is the moment from which an API server uses a revision of an object for its decisions; with revision 0, it does not
// use the object any more.
type View struct {
	APIServer string `json:"apiServer"`
	Object    Ref    `json:"object"`
	Revision  int64  `json:"revision"`
}

// Serving is the moment from which a pod serves a certificate; without one, it does not serve any more.
type Serving struct {
	Pod Ref `json:"pod"`
	// Certificate is the chain that it sends, in PEM.
	Certificate string `json:"certificate,omitempty"`
}

// Handshake is a connection of the manager to a pod that verified the certificate of the pod, or did not.
type Handshake struct {
	Client   string `json:"client"`
	Pod      Ref    `json:"pod"`
	Verified bool   `json:"verified"`
}

// Outcome is what became of a call.
type Outcome string

// The outcomes of calls.
const (
	Answered Outcome = "Answered" // the pod gave an answer, which may be a refusal
	Failed   Outcome = "Failed"   // the API server had no answer
)

// Call is a request that an API server sent to a webhook, a conversion webhook or an aggregated API server. The event is the
// answer.
type Call struct {
	APIServer string `json:"apiServer"`
	// Registration is the object that registers what was called.
	Registration Ref `json:"registration"`
	// Service is what was called.
	Service Ref `json:"service"`
	// Webhook is the name of the webhook in it; empty for conversions and APIServices.
	Webhook string `json:"webhook,omitempty"`
	// About is the object of the request.
	About   Ref       `json:"about"`
	Sent    time.Time `json:"sent"`
	Outcome Outcome   `json:"outcome"`
	Error   string    `json:"error,omitempty"`
	// Pod is the one that was asked, if the API server came that far.
	Pod Ref `json:"pod,omitzero"`
}

// Message is a text of the manager: a line of its log, an Event, or a message in a status.
type Message struct {
	Client string `json:"client"`
	// About is the object; empty in a log.
	About Ref    `json:"about,omitzero"`
	Text  string `json:"text"`
}

// Condition is the begin or the end of what the run does to the cluster, or asks for.
type Condition struct {
	// ID is the same at the begin and at the end.
	ID    string        `json:"id"`
	Kind  ConditionKind `json:"kind"`
	Begin bool          `json:"begin"`
	// Objects are the objects concerned.
	Objects []Ref `json:"objects,omitempty"`
	// Cause is what a report must name, for Stopped.
	Cause string `json:"cause,omitempty"`
}

// ConditionKind is what a condition means for the judge.
type ConditionKind string

// The kinds of conditions.
const (
	// Outage: calls of these registrations, to these Services or to these pods may fail. The manager is not the cause.
	Outage ConditionKind = "Outage"
	// Stopped: the manager cannot continue with these objects, and has to report it.
	Stopped ConditionKind = "Stopped"
	// Ordered: an administrator has switched these registrations off, or has allowed them to open.
	Ordered ConditionKind = "Ordered"
	// Quiet: nothing changes in the cluster, and everything that was begun has ended.
	Quiet ConditionKind = "Quiet"
)
