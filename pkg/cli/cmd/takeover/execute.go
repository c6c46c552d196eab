package takeover

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/terminal"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

// announce lists the writes of a command. It returns an error if the command cannot begin.
func announce(out output.Writer, title string, snapshot *takeover.Snapshot, next takeover.NextFunc) error {
	if d := next(snapshot, time.Now()); d.Blocked != "" {
		return exitcode.With(exitBlocked, errors.New(d.Blocked))
	}
	out.Printf("%s:\n", title)
	for _, w := range takeover.Predict(snapshot, next) {
		out.Printf("  %s\n", w)
	}
	return nil
}

// execution carries out the decisions of one command. It has no state that the next execution needs.
type execution struct {
	*target
	options

	out      output.Writer
	progress *terminal.ProgressLine
	next     takeover.NextFunc
	measured *measurement

	pending bool      // whether the last decision needs a measurement first
	ordered time.Time // when a CSV was ordered last
	waiting string    // what the last decision waited for
	since   time.Time // since when
	last    []takeover.Write
	repeats int // how often the last writes were repeated
}

// maxRepeats limits writes that have no effect, such as writes that admission reverts.
const maxRepeats = 5

// pollInterval is the time between two readings of the cluster while the command waits.
const pollInterval = 500 * time.Millisecond

// execute returns when the command is done, or cannot continue.
func (t *target) execute(ctx context.Context, o options, out output.Writer, next takeover.NextFunc) error {
	e := &execution{target: t, options: o, out: out, progress: terminal.NewProgressLine(out), next: next, measured: &measurement{target: t, out: out}}
	defer e.progress.End()
	if err := e.measured.begin(ctx, o.observe); err != nil {
		return err
	}
	for {
		d, err := e.step(ctx)
		if err != nil || d.Done {
			return err
		}
		if d.Wait == "" {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}

// step does what is next, and returns it. A measurement may take long. So it precedes the reading of the cluster from which
// a write follows, and that the command is done.
func (e *execution) step(ctx context.Context) (takeover.Decision, error) {
	measured := e.measured.isDue() || e.pending
	if measured {
		if err := e.measured.check(ctx); err != nil {
			return takeover.Decision{}, err
		}
	}
	d, err := e.decide(ctx)
	if err != nil {
		return takeover.Decision{}, err
	}
	if e.pending = (len(d.Writes) > 0 || d.Done) && !measured; e.pending {
		return takeover.Decision{}, nil
	}
	return d, e.carryOut(ctx, d)
}

// decide returns what is next.
func (e *execution) decide(ctx context.Context) (takeover.Decision, error) {
	snapshot, err := e.Snapshot(ctx)
	if err != nil {
		return takeover.Decision{}, err
	}
	if err := e.Workloads(ctx, &snapshot); err != nil {
		return takeover.Decision{}, err
	}
	now := time.Now()
	return takeover.Paced(e.next(&snapshot, now), e.ordered, now, e.pace), nil
}

func (e *execution) carryOut(ctx context.Context, d takeover.Decision) error {
	switch {
	case d.Blocked != "":
		return exitcode.With(exitBlocked, errors.New(d.Blocked))
	case d.Done:
		e.progress.Print(terminal.Progress{Line: fmt.Sprintf("done: %d of %d ClusterServiceVersions", d.Finished, d.All), Done: d.Finished, All: d.All, Final: true})
		e.measured.print()
		return nil
	case d.Wait != "":
		return e.wait(d)
	default:
		return e.write(ctx, d.Writes)
	}
}

func (e *execution) write(ctx context.Context, all []takeover.Write) error {
	if e.waiting = ""; !slices.Equal(all, e.last) {
		e.last, e.repeats = all, 0
	}
	if e.repeats++; e.repeats > maxRepeats {
		return fmt.Errorf("%s: %d attempts had no effect: another client, or admission, reverts it; see the managedFields of the object", all[0], maxRepeats)
	}
	for _, w := range all {
		if w.Begins() {
			e.ordered = time.Now()
		}
		e.progress.End()
		e.out.Printf("%s %s\n", time.Now().Format(time.TimeOnly), w)
		if err := e.target.write(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

// wait shows what the command waits for. The timeout is for one condition. A maintenance window may be longer away.
func (e *execution) wait(d takeover.Decision) error {
	now := time.Now()
	if d.Wait != e.waiting {
		e.waiting, e.since = d.Wait, now
	}
	e.progress.Print(terminal.Progress{Line: fmt.Sprintf("%d of %d: waiting: %s", d.Finished, d.All, d.Wait), Done: d.Finished, All: d.All})
	if !d.Patient && now.Sub(e.since) > e.timeout {
		return fmt.Errorf("after %s: %s. Correct the cause and run the command again; takeover status shows what is left to do", e.timeout, d.Wait)
	}
	return nil
}
