package judge

import (
	"maps"
	"slices"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// cluster is the state of a run after an event.
type cluster struct {
	clients map[string]history.Role
	// probes is history.History.Probes.
	probes string
	// verified are the answers of cluster.verify.
	verified map[verification]error
	// objects are the objects that exist, by reference without uid.
	objects map[history.Ref]history.Object
	// managed are the objects that exist and that the manager has written.
	managed map[history.Ref]bool
	// revisions are what objects register at each revision that API servers may still use.
	revisions map[history.Ref]map[int64][]registration
	// latest are what objects register now.
	latest map[history.Ref][]registration
	// views are the revisions that each API server uses, for the objects of which it reports it.
	views map[string]map[history.Ref]int64
	// created are the uids of the objects that the manager created.
	created map[string]bool
	// owners are the uids of the ClusterServiceVersions that existed.
	owners map[string]bool
	// endpoints are the pods to which API servers send calls of a Service, by EndpointSlice.
	endpoints map[history.Ref]endpoints
	// pods are the serving pods, by reference.
	pods map[history.Ref]served
	// reads are the latest live reads of managers.
	reads map[reading]time.Time
	// conditions are the present conditions, by id; ended are the past ones.
	conditions map[string]holding
	ended      []holding
	// reported are the latest texts about each object.
	reported map[history.Ref]reported
	// repairs are the times of the manager's writes of each object within the last minute.
	repairs map[history.Ref][]time.Time
	// authored are the times of the last writes of an author, by namespace.
	authored map[string]time.Time
}

type served struct {
	history.Serving
	// verified is set if the manager has verified this certificate of the pod.
	verified bool
	// listed is since when an EndpointSlice lists the pod as ready. Only cluster.serving sets it.
	listed time.Time
}

// verification is the question whether a registration verifies a certificate.
type verification struct {
	caBundle, certificate string
	service               history.Ref
	hour                  time.Time
}

type reading struct{ kind, namespace string }

type holding struct {
	history.Condition
	from, to time.Time
}

type reported struct {
	at   time.Time
	text string
}

func newCluster(h history.History) *cluster {
	return &cluster{
		clients: h.Clients, probes: h.Probes, verified: map[verification]error{}, latest: map[history.Ref][]registration{}, objects: map[history.Ref]history.Object{}, managed: map[history.Ref]bool{},
		revisions: map[history.Ref]map[int64][]registration{}, views: map[string]map[history.Ref]int64{},
		created: map[string]bool{}, owners: map[string]bool{}, endpoints: map[history.Ref]endpoints{}, pods: map[history.Ref]served{}, reads: map[reading]time.Time{},
		conditions: map[string]holding{}, reported: map[history.Ref]reported{}, repairs: map[history.Ref][]time.Time{}, authored: map[string]time.Time{},
	}
}

func (c *cluster) is(client string, role history.Role) bool { return c.clients[client] == role }

// apply changes the state by an event. What an invariant compares with the state before a write is in the write.
func (c *cluster) apply(e history.Event) {
	switch {
	case e.Write != nil:
		c.applyWrite(e.At, *e.Write)
	case e.Read != nil && e.Read.Live && c.is(e.Read.Client, history.Manager):
		c.reads[reading{e.Read.Object.Kind, e.Read.Object.Namespace}] = e.At
	case e.View != nil:
		c.see(*e.View)
	case e.Serving != nil:
		c.applyServing(*e.Serving)
	case e.Handshake != nil && e.Handshake.Verified:
		if pod, serves := c.pods[e.Handshake.Pod.Key()]; serves && c.is(e.Handshake.Client, history.Manager) {
			pod.verified = true
			c.pods[e.Handshake.Pod.Key()] = pod
		}
	case e.Message != nil && c.is(e.Message.Client, history.Manager):
		c.reported[e.Message.About.Key()] = reported{e.At, e.Message.Text}
	case e.Condition != nil:
		c.applyCondition(e.At, *e.Condition)
	}
}

func (c *cluster) applyWrite(at time.Time, w history.Write) {
	key := w.Object.Key()
	if w.After == nil {
		delete(c.objects, key)
		delete(c.managed, key)
		delete(c.endpoints, key)
		delete(c.revisions, key)
		delete(c.latest, key)
	} else {
		c.objects[key] = w.After
		c.managed[key] = c.managed[key] || c.is(w.Client, history.Manager)
		c.latest[key] = c.registrationsOf(key, w.After)
		if c.revisions[key] == nil {
			c.revisions[key] = map[int64][]registration{}
		}
		c.revisions[key][w.Revision] = c.latest[key]
	}
	if w.Object.Kind == "EndpointSlice" && w.After != nil {
		c.endpoints[key] = endpointsOf(w.After, c.endpoints[key], at)
	}
	switch {
	case w.Object.Kind == "ClusterServiceVersion":
		c.owners[w.Object.UID] = true
		if c.is(w.Client, history.Author) {
			c.authored[w.Object.Namespace] = at
		}
	case c.is(w.Client, history.Manager) && w.Before == nil:
		c.created[w.Object.UID] = true
	}
	if c.is(w.Client, history.Manager) {
		recent := slices.DeleteFunc(slices.Clone(c.repairs[key]), func(t time.Time) bool { return at.Sub(t) > time.Minute })
		c.repairs[key] = append(recent, at)
	}
}

func (c *cluster) see(v history.View) {
	if c.views[v.APIServer] == nil {
		c.views[v.APIServer] = map[history.Ref]int64{}
	}
	c.views[v.APIServer][v.Object.Key()] = v.Revision
}

func (c *cluster) applyServing(s history.Serving) {
	if s.Certificate == "" {
		delete(c.pods, s.Pod.Key())
		return
	}
	before := c.pods[s.Pod.Key()]
	c.pods[s.Pod.Key()] = served{Serving: s, verified: before.verified && before.Certificate == s.Certificate}
}

func (c *cluster) applyCondition(at time.Time, condition history.Condition) {
	if condition.Begin {
		c.conditions[condition.ID] = holding{Condition: condition, from: at}
		return
	}
	if h, holds := c.conditions[condition.ID]; holds {
		h.to = at
		c.ended = append(c.ended, h)
		delete(c.conditions, condition.ID)
	}
}

// holds reports whether a condition of a kind concerns one of the objects at a time since another. A condition without
// objects concerns all.
func (c *cluster) holds(kind history.ConditionKind, since time.Time, objects ...history.Ref) bool {
	concerns := func(h holding) bool {
		return h.Kind == kind && (h.to.IsZero() || !h.to.Before(since)) &&
			(len(h.Objects) == 0 || slices.ContainsFunc(h.Objects, func(r history.Ref) bool {
				return slices.ContainsFunc(objects, func(o history.Ref) bool { return o.Key() == r.Key() })
			}))
	}
	return slices.ContainsFunc(slices.Collect(maps.Values(c.conditions)), concerns) || slices.ContainsFunc(c.ended, concerns)
}

// used returns what an object registers as API servers use it: what each of them reported, or else the latest.
func (c *cluster) used(key history.Ref) map[string][]registration {
	all := map[string][]registration{"": c.latest[key]}
	for server, views := range c.views {
		if revision, reported := views[key]; reported {
			delete(all, "")
			all[server] = c.revisions[key][revision]
		}
	}
	return all
}
