package takeover

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

// measurement counts the failed calls of webhooks while a command changes the cluster.
type measurement struct {
	*target

	out     output.Writer
	watcher *takeover.Watcher
	read    time.Time
	counted bool     // whether the metrics of an API server were read
	missing []string // what the last reading did not contain
}

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

// isDue reports whether the metrics and the registrations have to be read again, even if the command only waits.
func (m *measurement) isDue() bool { return time.Since(m.read) >= cluster.MeasureInterval }

// check returns an error if calls fail, or more calls are slow, than before the first change.
func (m *measurement) check(ctx context.Context) error {
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
	now := time.Now()
	servers, notChecked, err := m.calls.Read(ctx, now)
	if err != nil {
		return takeover.Reading{}, err
	}
	m.counted = m.counted || len(servers) > 0
	snapshot, err := m.Snapshot(ctx)
	if err != nil {
		return takeover.Reading{}, err
	}
	if err := m.Workloads(ctx, &snapshot); err != nil {
		return takeover.Reading{}, err
	}
	more, err := m.Registrations(ctx, &snapshot, time.Now())
	m.report(append(notChecked, more...))
	return takeover.Reading{At: now, Servers: servers, Problems: takeover.ProblemsOf(&snapshot)}, err
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
	if !m.counted {
		m.out.Printf("calls of webhooks: not counted\n")
		return
	}
	if webhook == "" {
		m.out.Printf("calls of webhooks: none counted, none failed\n")
		return
	}
	m.out.Printf("calls of webhooks: %.0f, none failed that did not fail before; slowest: %s, %.3f s on average\n", calls, webhook, mean)
}

// notMeasured is what a command and its plan say if no call can be counted.
const notMeasured = "failed calls of webhooks: the metrics of no API server can be read, so failed and slow calls do not stop the command. It only dials the pods"

// unmeasured returns what keeps failed calls from being counted.
func (t *target) unmeasured(ctx context.Context) (notChecked []string, err error) {
	servers, notChecked, err := t.calls.Read(ctx, time.Now())
	if len(servers) == 0 {
		notChecked = append([]string{notMeasured}, notChecked...)
	}
	return notChecked, err
}

// announceMeasurement prints that failed calls cannot be counted.
func (t *target) announceMeasurement(ctx context.Context, out output.Writer) error {
	notChecked, err := t.unmeasured(ctx)
	if slices.Contains(notChecked, notMeasured) {
		out.Printf("Not measured: %s\n", notMeasured)
	}
	return err
}
