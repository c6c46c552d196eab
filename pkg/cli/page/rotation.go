package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
)

// maxServing is how many endpoints of one Deployment are drawn.
const maxServing = 10

// rotation is what is known of the last rotations of one certificate.
type rotation struct {
	namespace   string
	spans       []span[certificateState]
	authorities map[string]string
	colors      palette
	events      []Event // phases that began
	calls       []callCount
	status      managerv1alpha1.CertificateStatus
	now         time.Time
}

func (x *index) rotationOf(w Webhook, colors palette) rotation {
	r := rotation{namespace: w.Namespace, spans: x.history.certificates[deploymentKey{w.Namespace, w.CSV, w.Deployment}], authorities: x.history.authorities, colors: colors, calls: x.history.calls[w.called], now: x.now}
	if w.Certificate != nil {
		r.status = *w.Certificate
	}
	r.events = phaseEvents(w.Events, w.Deployment)
	return r
}

// chart returns nothing if no rotation is known.
func (r rotation) chart() chart.Chart {
	phases, trusted, current := r.phases(), r.trusted(), r.current()
	if max(len(phases), len(trusted), len(current)) < 2 && !slices.ContainsFunc(phases, func(b chart.Bar) bool { return isRotating(b.Text) }) {
		return chart.Chart{}
	}
	rows := []chart.Row{{Name: "phase", Bars: phases}, {Name: "caBundle trusts CA", Bars: trusted}, {Name: "CA of the certificate", Bars: current}}
	rows = append(append(rows, r.served()...), chart.Row{Name: "pods, by the manager", Bars: r.counted()}, chart.Row{Name: "calls of the webhook", Bars: r.called(phases)})
	return chart.New(r.now, rows...)
}

var phaseColors = map[managerv1alpha1.CertificatePhase]chart.Color{
	managerv1alpha1.CertificateBootstrap: chart.Bad, managerv1alpha1.CertificateStable: chart.Idle,
	managerv1alpha1.CertificateDistributing: chart.Wait, managerv1alpha1.CertificatePromoting: chart.Next, managerv1alpha1.CertificateRetiring: chart.Good,
}

func phaseBar(phase string) (string, chart.Color) {
	return phase, cmp.Or(phaseColors[managerv1alpha1.CertificatePhase(phase)], chart.Idle)
}

func isRotating(phase string) bool {
	return phase != string(managerv1alpha1.CertificateStable) && phase != string(managerv1alpha1.CertificateBootstrap)
}

// phases are from observations, and from events before the first observation.
func (r rotation) phases() []chart.Bar {
	bars := barsOf(r.spans, func(s certificateState) (string, chart.Color) { return phaseBar(s.phase) })
	end := r.now
	if len(bars) > 0 {
		end = bars[0].From
	}
	var earlier []chart.Bar
	for i, e := range r.events {
		if !e.Time.Before(end) {
			break
		}
		text, color := phaseBar(phaseOf(e))
		to := end
		if i+1 < len(r.events) && r.events[i+1].Time.Before(end) {
			to = r.events[i+1].Time
		}
		earlier = append(earlier, chart.Bar{From: e.Time, To: to, Text: text, Color: color})
	}
	return joined(r.knownUntil(earlier, bars), r.missed(bars))
}

// missed adds the short phases that events report between two observations.
func (r rotation) missed(bars []chart.Bar) (all []chart.Bar) {
	for i, next := range bars {
		if i > 0 {
			last := all[len(all)-1]
			for _, e := range r.events {
				if !e.Time.After(last.From) || e.Time.After(next.From) || phaseOf(e) == last.Text || phaseOf(e) == next.Text {
					continue
				}
				all[len(all)-1].To = e.Time
				text, color := phaseBar(phaseOf(e))
				all = append(all, chart.Bar{From: e.Time, To: next.From, Text: text, Color: color})
			}
		}
		all = append(all, next)
	}
	return all
}

// knownUntil marks the last phase of events as unknown if it is not the next one that is known: events can be lost.
func (r rotation) knownUntil(earlier, bars []chart.Bar) []chart.Bar {
	next := string(r.status.Phase)
	if len(bars) > 0 {
		next = bars[0].Text
	}
	if last := len(earlier) - 1; last >= 0 && earlier[last].Text != next {
		earlier[last].Text, earlier[last].Color = earlier[last].Text+", or a later phase", chart.Unknown
	}
	return earlier
}

// joined makes one bar of the last and the first one if their texts are equal.
func joined(earlier, later []chart.Bar) []chart.Bar {
	if last := len(earlier) - 1; last >= 0 && len(later) > 0 && earlier[last].Text == later[0].Text {
		later = slices.Clone(later)
		later[0].From = earlier[last].From
		earlier = earlier[:last]
	}
	return append(earlier, later...)
}

func (r rotation) trusted() []chart.Bar {
	return barsOf(r.spans, func(s certificateState) (string, chart.Color) {
		return strings.Join(lists.Map(s.trusted, r.name), " and "), r.colors.of(s.trusted...)
	})
}

// current begins when the manager wrote the certificate, also if that was before the first observation.
func (r rotation) current() []chart.Bar {
	bars := barsOf(r.spans, func(s certificateState) (string, chart.Color) {
		if s.current == "" {
			return "", ""
		}
		return numbered(s.number, s.current), r.colors.of(s.current)
	})
	written, text := r.status.LastUpdateTime, numbered(r.status.Generation, short(r.status.CAFingerprint))
	switch {
	case written == nil || r.status.CAFingerprint == "":
	case len(bars) == 0:
		bars = []chart.Bar{{From: written.Time, To: r.now, Text: text, Color: r.colors.of(short(r.status.CAFingerprint))}}
	case bars[0].Text == text && written.Time.Before(bars[0].From):
		bars[0].From = written.Time
	}
	return bars
}

// served has a row for each endpoint that was dialled.
func (r rotation) served() (rows []chart.Row) {
	var endpoints []string
	for _, s := range r.spans {
		endpoints = append(endpoints, lists.Map(s.value.served, func(one served) string { return one.endpoint })...)
	}
	endpoints = lists.Distinct(endpoints)
	for _, endpoint := range endpoints[:min(len(endpoints), maxServing)] {
		name := strings.Replace(endpoint, r.namespace+"/", "", 1)
		rows = append(rows, chart.Row{Name: name, Bars: barsOf(r.spans, func(s certificateState) (string, chart.Color) {
			one := lists.First(s.served, func(one served) bool { return one.endpoint == endpoint })
			if one.ca == "" {
				return one.text, chart.Bad
			}
			return r.servedText(one), r.colors.of(one.ca)
		})})
	}
	if more := len(endpoints) - maxServing; more > 0 {
		rows = append(rows, chart.Row{Name: "other endpoints", Unknown: fmt.Sprintf("%d are not drawn", more)})
	}
	return rows
}

// servedText names the certificate by its CA, and by its own fingerprint if the CA has no number.
func (r rotation) servedText(s served) string {
	if name := r.name(s.ca); name != s.ca {
		return name
	}
	return s.text + " of " + s.ca
}

func (r rotation) counted() []chart.Bar {
	return barsOf(r.spans, func(s certificateState) (string, chart.Color) { return s.pods, chart.Idle })
}

func (r rotation) name(fingerprint string) string {
	return cmp.Or(r.authorities[fingerprint], fingerprint)
}

// called has the calls between two readings of the metrics, as far as the certificate was rotated between them.
func (r rotation) called(phases []chart.Bar) (bars []chart.Bar) {
	for i := range len(r.calls) - 1 {
		a, b := r.calls[i], r.calls[i+1]
		if !slices.ContainsFunc(phases, func(p chart.Bar) bool { return isRotating(p.Text) && p.From.Before(b.at) && p.To.After(a.at) }) {
			continue
		}
		bar := chart.Bar{From: a.at, To: b.at, Text: fmt.Sprintf("%d, %d failed", b.calls-a.calls, b.failed-a.failed), Color: chart.Idle}
		if b.failed > a.failed {
			bar.Color = chart.Bad
		}
		bars = append(bars, bar)
	}
	return bars
}

const phasePrefix = "Certificate"

func phaseOf(e Event) string { return strings.TrimPrefix(e.Reason, phasePrefix) }

// phaseEvents returns the events of the phases of one Deployment's certificate, the first one first.
func phaseEvents(events []Event, deployment string) []Event {
	about := func(e Event) bool {
		_, known := phaseColors[managerv1alpha1.CertificatePhase(phaseOf(e))]
		return known && strings.HasPrefix(e.Reason, phasePrefix) && strings.Contains(strings.ReplaceAll(e.Message, ";", " ")+" ", "deployment "+deployment+" ")
	}
	all := lists.Filter(events, about)
	slices.SortStableFunc(all, func(a, b Event) int {
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(slices.Index(phaseOrder, phaseOf(a)), slices.Index(phaseOrder, phaseOf(b))))
	})
	return all
}

// phaseOrder is that of a rotation: events of one second have no other order.
var phaseOrder = lists.Texts([]managerv1alpha1.CertificatePhase{
	managerv1alpha1.CertificateBootstrap, managerv1alpha1.CertificateDistributing, managerv1alpha1.CertificatePromoting,
	managerv1alpha1.CertificateRetiring, managerv1alpha1.CertificateStable,
})
