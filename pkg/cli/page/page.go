// Package page renders the webhooks of a cluster as HTML: a map of who intercepts what, a view of each webhook, and what
// doctor finds. It is pure.
package page

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/status"
)

// Facts are what the page shows of a cluster.
type Facts struct {
	status.Facts
	// DialledAt is when Answers were read; zero before that.
	DialledAt time.Time
	// NotDialled is why Answers could not be read; otherwise empty.
	NotDialled string
	// Events are those of ClusterServiceVersions.
	Events []corev1.Event
	// EventsUnread is why Events could not be listed; otherwise empty.
	EventsUnread string
	// Latencies are what one API server has measured since it started.
	Latencies Latencies
	// LatenciesUnread is why Latencies could not be read; otherwise empty.
	LatenciesUnread string
	// Server is the address of the API server.
	Server string
	// Namespace is the namespace that is shown; empty for all, with registrations of no ClusterServiceVersion.
	Namespace string
}

// Page is the content of all views.
type Page struct {
	Server string
	ReadAt time.Time
	// Notes are what limits the content, for example what the user may not read.
	Notes    []string
	Webhooks []Webhook
	Findings []doctor.Finding
	// DialledAt is when the endpoints were dialled; zero before that.
	DialledAt time.Time
	// Dialled is the number of ready endpoints that were dialled, of Endpoints.
	Dialled, Endpoints int
	// NotDialled, EventsUnread and LatenciesUnread are why these are not shown; otherwise empty.
	NotDialled, EventsUnread, LatenciesUnread string
}

// New returns the page of a cluster. The history is that of its certificates.
func New(f Facts, history History, now time.Time) Page {
	f.Webhooks = withoutPaths(f.Webhooks)
	p := Page{
		Server: f.Server, ReadAt: now, DialledAt: f.DialledAt, NotDialled: f.NotDialled, EventsUnread: f.EventsUnread, LatenciesUnread: f.LatenciesUnread,
		Findings: findings(f, now),
	}
	p.Dialled, p.Endpoints = doctor.Asked(f.Facts.Facts)
	s := status.Of(f.Facts, f.Namespace, now)
	p.Notes = notes(s, now)
	p.Webhooks = webhooks(f, s, p.Findings, history, now)
	return p
}

// findings leaves out that endpoints were not dialled before they are.
func findings(f Facts, now time.Time) []doctor.Finding {
	all := doctor.Diagnose(f.Facts.Facts, now)
	if !f.DialledAt.IsZero() {
		return all
	}
	return slices.DeleteFunc(all, func(finding doctor.Finding) bool { return finding.Code == doctor.NotAsked })
}

func notes(s status.Status, now time.Time) (all []string) {
	for _, away := range s.Away {
		all = append(all, fmt.Sprintf("No manager holds Lease %s, which was renewed %s ago: what its manager reported may be out of date.", away.Lease, duration.HumanDuration(now.Sub(away.Since.Time))))
	}
	if s.ManagerUnknown != "" {
		all = append(all, "Whether a manager runs is not known: "+s.ManagerUnknown)
	}
	if s.NotInstalled != "" {
		all = append(all, s.NotInstalled)
	}
	if s.NotChecked != "" {
		all = append(all, "Whether API servers call and reach the webhooks was not checked: "+s.NotChecked)
	}
	return all
}

// Same reports whether two pages show the same state of the cluster, regardless of the time.
func (p Page) Same(as Page) bool { return reflect.DeepEqual(p.withoutTime(), as.withoutTime()) }

func (p Page) withoutTime() Page {
	p.ReadAt, p.DialledAt = time.Time{}, time.Time{}
	p.Webhooks = slices.Clone(p.Webhooks)
	for i := range p.Webhooks {
		p.Webhooks[i].Rotation, p.Webhooks[i].Latency = Chart{}, nil
	}
	return p
}

// Webhook returns the webhook with an ID.
func (p Page) Webhook(id string) (Webhook, bool) {
	i := slices.IndexFunc(p.Webhooks, func(w Webhook) bool { return w.ID == id })
	if i < 0 {
		return Webhook{}, false
	}
	return p.Webhooks[i], true
}

// Count returns the number of webhooks of a health.
func (p Page) Count(of Health) int {
	return len(slices.DeleteFunc(slices.Clone(p.Webhooks), func(w Webhook) bool { return w.Health != of }))
}

// Healths are all of them, the worst first.
func (p Page) Healths() []Health { return healths }
