package ui

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
)

const (
	// measurePeriod is the time after which the endpoints are dialled again while a view is open, and the metrics read.
	measurePeriod = time.Minute
	// minDialPause is the pause before endpoints that the last dial did not include are dialled, and those of certificates
	// that are rotated.
	minDialPause = 5 * time.Second
	// rotationMetricsPeriod is measurePeriod for metrics while a certificate is rotated: they are large.
	rotationMetricsPeriod = 15 * time.Second
)

// measurement is what is measured next.
type measurement struct {
	at time.Time
	// dials is whether the endpoints of webhooks are dialled, latencies whether the metrics are read.
	dials, latencies bool
	webhooks         []doctor.Webhook
	all              bool // webhooks are all of them
}

// measured is when something was measured last; zero before that.
type measured struct {
	all, rotating, latencies time.Time
	// generations are those of the certificates when their endpoints were dialled last.
	generations page.Generations
}

// next decides from the last reading what is measured next, and when.
func (m measured) next(last reading, now time.Time) measurement {
	rotating := last.facts.Rotating(m.generations)
	next := m.nextDial(last, rotating)
	metrics := m.latencies.Add(m.metricsPeriod(len(rotating) > 0))
	dial := next.at
	if next.at = slices.MinFunc([]time.Time{dial, metrics}, time.Time.Compare); next.at.Before(now) {
		next.at = now
	}
	next.dials, next.latencies = !dial.After(next.at), !metrics.After(next.at)
	return next
}

func (m measured) nextDial(last reading, rotating []doctor.Webhook) measurement {
	pause := measurePeriod
	if last.page.Dialled < last.page.Endpoints {
		pause = minDialPause
	}
	all := measurement{at: m.all.Add(pause), webhooks: last.facts.Shown(), all: true}
	one := measurement{at: slices.MaxFunc([]time.Time{m.all, m.rotating}, time.Time.Compare).Add(minDialPause), webhooks: rotating}
	if len(rotating) > 0 && !m.all.IsZero() && one.at.Before(all.at) {
		return one
	}
	return all
}

// metricsPeriod is short until the calls during a rotation are counted.
func (m measured) metricsPeriod(rotating bool) time.Duration {
	if rotating || m.rotating.After(m.latencies) {
		return rotationMetricsPeriod
	}
	return measurePeriod
}

// done returns what was measured last, after a measurement.
func (m measured) done(next measurement, dialled page.Generations, now time.Time) measured {
	switch {
	case next.dials && next.all:
		m.all, m.generations = now, dialled
	case next.dials:
		m.rotating, m.generations = now, dialled
	}
	if next.latencies {
		m.latencies = now
	}
	return m
}

// Measure dials the endpoints while a view is open, until the context ends: as soon as a view is opened, once a minute,
// after endpoints have appeared, and more often those of a certificate that is rotated.
func (h *Handler) Measure(ctx context.Context) {
	var last measured
	for h.waitForView(ctx) {
		now := time.Now()
		read := h.lastReading()
		next := last.next(read, now)
		if !next.at.After(now) {
			h.measure(ctx, next)
			last = last.done(next, read.facts.Generations(), time.Now())
			continue
		}
		timer := time.NewTimer(time.Until(next.at))
		select {
		case <-ctx.Done():
		case <-h.open.updated: // Another measurement may be the next one.
		case <-timer.C:
		}
		timer.Stop()
	}
}

// waitForView waits until a view is open. It returns false after the end of the context.
func (h *Handler) waitForView(ctx context.Context) bool {
	for h.open.count() == 0 {
		select {
		case <-ctx.Done():
			return false
		case <-h.open.opened:
			h.read(ctx) // The facts were not read while no view was open.
		}
	}
	return ctx.Err() == nil
}

// measure keeps the previous answers of the endpoints that it could not dial, and of the endpoints of other webhooks.
func (h *Handler) measure(ctx context.Context, next measurement) {
	if next.dials {
		answers, err := h.reader.Dial(ctx, next.webhooks)
		h.addAnswers(answers, err, next.all, time.Now())
	}
	if next.latencies {
		h.addLatencies(ctx)
	}
	h.read(ctx)
}

func (h *Handler) addAnswers(answers map[string][]doctor.Answer, err error, all bool, now time.Time) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err != nil {
		h.measured.NotDialled = err.Error()
		return
	}
	if all {
		h.measured.NotDialled, h.measured.Answers, h.measured.DialledAt = "", answers, now.Add(h.clock)
		return
	}
	known := maps.Clone(h.measured.Answers) // A page that is being rendered has the previous map.
	if known == nil {
		known = map[string][]doctor.Answer{}
	}
	maps.Copy(known, answers)
	h.measured.Answers = known
}

func (h *Handler) addLatencies(ctx context.Context) {
	latencies, err := h.reader.Latencies(ctx)
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if err != nil {
		h.measured.LatenciesUnread = err.Error()
		return
	}
	h.measured.LatenciesUnread, h.measured.Latencies, h.measured.LatenciesAt = "", latencies, time.Now().Add(h.clock)
}
