package ui

import (
	"context"
	"time"
)

const (
	// measurePeriod is the time after which the endpoints are dialled again while a view is open.
	measurePeriod = time.Minute
	// minMeasurePause is the pause before endpoints that the last dial did not include are dialled.
	minMeasurePause = 5 * time.Second
)

// Measure dials the endpoints while a view is open, until the context ends: as soon as a view is opened, once a minute,
// and after endpoints have appeared.
func (h *Handler) Measure(ctx context.Context) {
	var last time.Time
	for h.waitForView(ctx) {
		pause := measurePeriod
		if p := h.lastReading().page; p.Dialled < p.Endpoints {
			pause = minMeasurePause
		}
		if time.Since(last) >= pause {
			h.measure(ctx)
			last = time.Now()
		}
		timer := time.NewTimer(time.Until(last.Add(pause)))
		select {
		case <-ctx.Done():
		case <-h.open.updated: // The pause may be another one.
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

// measure keeps the answers of the previous dial if the endpoints could not be dialled.
func (h *Handler) measure(ctx context.Context) {
	m := h.reader.Measure(ctx)
	h.mutex.Lock()
	if m.NotDialled != "" {
		m.Answers, m.DialledAt = h.measured.Answers, h.measured.DialledAt
	}
	h.measured = m
	h.mutex.Unlock()
	h.read(ctx)
}
