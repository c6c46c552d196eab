package controller

import (
	"context"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// rehearse asks by dry runs whether admission made live objects differ from what is desired. A
// process does so once for an object that it has not written itself. What a dry run does not
// show, because a webhook does not take part in one, the write itself shows.
func (c *executor) rehearse(ctx context.Context, s *snapshot, steps []rollout.Step) (accepted bool) {
	for _, step := range steps {
		if !step.NeedsDryRun || s.rehearsed[step.Key()] {
			continue
		}
		s.rehearsed[step.Key()] = true
		rehearsal := step
		rehearsal.DryRun = true
		answer, _, err := c.writer.write(ctx, s.CSV.Namespace, rehearsal)
		if err != nil || answer == nil {
			continue
		}
		if write, same := drift.WriteOfDryRun(step.Desired, step.Live, answer); same {
			s.Observed.Writes[step.Key()] = write
			c.repairs.Wrote(records.NameOf(s.CSV), step.Key(), write)
			accepted = true
		}
	}
	return accepted
}
