package takeover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

// measurement counts the failed calls of webhooks while a command changes the cluster.
type measurement struct {
	*target

	out     output.Writer
	watcher *takeover.Watcher
	read    time.Time
	missing []string // what the last reading did not contain
}

// measureInterval is the longest time between two readings of the metrics and of the registrations.
const measureInterval = 10 * time.Second

// begin finds the webhooks whose calls fail before the first change.
func (m *measurement) begin(ctx context.Context, observe time.Duration) error {
	first, err := m.reading(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(observe):
	}
	second, err := m.reading(ctx)
	if err != nil {
		return err
	}
	timeouts, err := m.Timeouts(ctx)
	if err != nil {
		return err
	}
	m.watcher, m.read = takeover.NewWatcher(first, second, timeouts), time.Now()
	return nil
}

// check returns an error if calls fail, or more calls are slow, than before the first change.
func (m *measurement) check(ctx context.Context, now bool) error {
	if !now && time.Since(m.read) < measureInterval {
		return nil
	}
	reading, err := m.reading(ctx)
	if err != nil {
		return err
	}
	m.read = time.Now()
	if failures := m.watcher.Failures(reading); len(failures) > 0 {
		return fmt.Errorf("stopped, because calls of webhooks fail, or are slow, that were not before: %s. Find the cause with kubectl webhooks doctor; then run the command again, or takeover undo", strings.Join(failures, "; "))
	}
	return nil
}

// reading prints what it does not contain, when that changes.
func (m *measurement) reading(ctx context.Context) (takeover.Reading, error) {
	servers, notChecked, err := m.Calls(ctx)
	if err != nil {
		return takeover.Reading{}, err
	}
	snapshot, err := m.Snapshot(ctx)
	if err != nil {
		return takeover.Reading{}, err
	}
	if err := m.Workloads(ctx, &snapshot); err != nil {
		return takeover.Reading{}, err
	}
	more, err := m.Registrations(ctx, &snapshot, time.Now())
	m.report(append(notChecked, more...))
	return takeover.Reading{Servers: servers, Problems: takeover.ProblemsOf(&snapshot)}, err
}

func (m *measurement) report(notChecked []string) {
	for _, line := range notChecked {
		if !slices.Contains(m.missing, line) {
			m.out.Printf("Not checked: %s\n", line)
		}
	}
	m.missing = notChecked
}

// print writes what was measured.
func (m *measurement) print() {
	webhook, mean, calls := m.watcher.Slowest()
	if webhook == "" {
		m.out.Printf("calls of webhooks: none counted, none failed\n")
		return
	}
	m.out.Printf("calls of webhooks: %.0f, none failed that did not fail before; slowest: %s, %.3f s on average\n", calls, webhook, mean)
}
