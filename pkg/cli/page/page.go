// Package page renders the webhooks of a cluster as HTML: a map of who intercepts what, a view of each webhook, and
// what doctor finds. It is pure.
package page

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/status"
)

// Facts are what the page shows of a cluster.
type Facts struct {
	status.Facts
	Measurements
	// Deployments are those of ClusterServiceVersions.
	Deployments []appsv1.Deployment
	// DeploymentsUnread is why Deployments could not be listed; otherwise empty.
	DeploymentsUnread string
	// Events are those of ClusterServiceVersions.
	Events []corev1.Event
	// EventsUnread is why Events could not be listed; otherwise empty.
	EventsUnread string
	// Server is the address of the API server.
	Server string
	// ClockAhead is how much later the clock of the API server is than that of this machine; nil if it is not known.
	ClockAhead *time.Duration
	// Namespace is the namespace that is shown; empty for all, with registrations of no ClusterServiceVersion.
	Namespace string
}

// Shown returns the webhooks of the page that API servers know.
func (f Facts) Shown() []doctor.Webhook {
	return lists.Filter(f.Webhooks, func(w doctor.Webhook) bool {
		return f.Namespace == "" || w.Owner.Namespace == f.Namespace || w.Service.Namespace == f.Namespace
	})
}

// Generations are the numbers of certificates, by Deployment.
type Generations map[deploymentKey]int64

// Generations returns those of the status.
func (f Facts) Generations() Generations {
	all := Generations{}
	for _, r := range f.Rollouts {
		for _, d := range r.Status.Deployments {
			if d.Certificate != nil {
				all[deploymentKey{r.Namespace, r.Name, d.Name}] = d.Certificate.Generation
			}
		}
	}
	return all
}

// Rotating returns the webhooks whose certificates are replaced, or were since their endpoints were dialled.
func (f Facts) Rotating(dialled Generations) (all []doctor.Webhook) {
	registrations := byObject(f.Webhooks)
	for _, r := range f.Rollouts {
		for _, d := range r.Status.Deployments {
			if c := d.Certificate; c != nil && (isRotating(string(c.Phase)) || c.Generation != dialled[deploymentKey{r.Namespace, r.Name, d.Name}]) {
				all = append(all, registeredBy(d, r.Namespace, registrations)...)
			}
		}
	}
	return all
}

// Measurements are facts that take long to read.
type Measurements struct {
	// Answers are the answers of endpoints, by the String of the webhook.
	Answers map[string][]doctor.Answer
	// DialledAt is when Answers were read; zero before that.
	DialledAt time.Time
	// Direct reports whether the addresses of the endpoints were dialled, and not the inside of their pods.
	Direct bool
	// NotDialled is why the last attempt to read Answers failed; otherwise empty.
	NotDialled string
	// Latencies are what one API server has measured since it started.
	Latencies Latencies
	// LatenciesAt is when Latencies were read; zero before that.
	LatenciesAt time.Time
	// LatenciesUnread is why Latencies could not be read; otherwise empty.
	LatenciesUnread string
}

// Page is the content of all views.
type Page struct {
	Server, Namespace string
	ReadAt            time.Time
	// Unread is why the cluster could not be read after ReadAt; otherwise empty.
	Unread string
	// Number is another one after each change of the content.
	Number int
	// Notes are what limits the content, for example what the user may not read.
	Notes    []string
	Webhooks []Webhook
	Findings []doctor.Finding
	// RegistrationsUnread is why there are no findings; otherwise empty.
	RegistrationsUnread string
	// DialledAt is when the endpoints were dialled; zero before that.
	DialledAt time.Time
	Direct    bool
	// Dialled is the number of ready endpoints that were dialled, of Endpoints.
	Dialled, Endpoints int
	// NotDialled, EventsUnread and LatenciesUnread are why these are not shown; otherwise empty.
	NotDialled, EventsUnread, LatenciesUnread string

	ids map[string]string // of webhooks, by the String of the registration
}

// New returns the page of a cluster. Now, and the times of measurements, are those of the clock of the API server.
func New(f Facts, history History, now time.Time) Page {
	redaction := redactionOf(f.Webhooks)
	f.Webhooks, f.Facts.Answers = lists.Map(f.Webhooks, redaction.webhook), f.Answers
	s := status.Of(f.Facts, f.Namespace, now)
	p := Page{
		Server: f.Server, Namespace: f.Namespace, ReadAt: now, Notes: append(clockNotes(f.ClockAhead), notes(s)...), RegistrationsUnread: f.RegistrationsUnread,
		DialledAt: f.DialledAt, Direct: f.Direct, NotDialled: f.NotDialled, EventsUnread: f.EventsUnread, LatenciesUnread: f.LatenciesUnread,
	}
	p.Dialled, p.Endpoints = doctor.Asked(f.Facts.Facts)
	p.Findings = lists.Map(findings(f, now), redaction.finding)
	p.Webhooks, p.ids = newIndex(f, p.Findings, history, redaction, now).webhooks(s)
	if f.Namespace != "" {
		p.Findings = about(p.Webhooks, p.Findings)
	}
	return p
}

// findings does not report that endpoints were not dialled if the next dial is the first one of their webhook.
func findings(f Facts, now time.Time) []doctor.Finding {
	return slices.DeleteFunc(doctor.Diagnose(f.Facts.Facts, now), func(finding doctor.Finding) bool {
		return finding.Code == doctor.NotAsked && len(finding.Webhooks) == 1 && isDialledNext(f, finding.Webhooks[0])
	})
}

func isDialledNext(f Facts, webhook string) bool {
	_, dialled := f.Answers[webhook]
	i := slices.IndexFunc(f.Webhooks, func(w doctor.Webhook) bool { return w.String() == webhook })
	return !dialled && i >= 0 && f.Services[f.Webhooks[i].Service].Ports[f.Webhooks[i].Port] > 0
}

// about returns the findings of some webhooks.
func about(webhooks []Webhook, all []doctor.Finding) (findings []doctor.Finding) {
	for _, finding := range all {
		if slices.ContainsFunc(webhooks, func(w Webhook) bool {
			return slices.ContainsFunc(w.Findings, func(own doctor.Finding) bool { return reflect.DeepEqual(own, finding) })
		}) {
			findings = append(findings, finding)
		}
	}
	return findings
}

func notes(s status.Status) (all []string) {
	for _, away := range s.Away {
		all = append(all, fmt.Sprintf("No manager holds Lease %s, which was renewed last at %s: what its manager reported may be out of date.", away.Lease, away.Since.UTC().Format(time.RFC3339)))
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
	p.ReadAt, p.Number = time.Time{}, 0
	p.Webhooks = slices.Clone(p.Webhooks)
	for i := range p.Webhooks {
		w := &p.Webhooks[i]
		w.Rollout, w.Certificates, w.Rotation = w.Rollout.WithoutTime(), w.Certificates.WithoutTime(), w.Rotation.WithoutTime()
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

// Reference is the name of a registration, and the ID of its webhook; empty if that is not shown.
type Reference struct{ Name, ID string }

// Reference finds the webhook of a registration by its String.
func (p Page) Reference(registration string) Reference {
	return Reference{registration, p.ids[registration]}
}

// Count returns the number of webhooks of a health.
func (p Page) Count(of Health) int {
	return len(slices.DeleteFunc(slices.Clone(p.Webhooks), func(w Webhook) bool { return w.Health != of }))
}

// Healths are all values of Health, the worst first.
func (p Page) Healths() []Health { return healths }
