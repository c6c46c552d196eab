package page

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// clockTolerance is the difference of two clocks that is ignored: it is measured in whole seconds.
const clockTolerance = 2 * time.Second

// Clock returns how much later the clock of the API server is, from the previous and the measured difference. It is the
// previous one if they are close, so that the times of the page do not vary.
func Clock(previous time.Duration, measured *time.Duration) time.Duration {
	if measured == nil || (*measured-previous).Abs() <= clockTolerance {
		return previous
	}
	return measured.Round(time.Second)
}

// clockNotes warns of a difference of which other commands know nothing.
func clockNotes(ahead *time.Duration) []string {
	if ahead == nil || ahead.Abs() <= clockTolerance {
		return nil
	}
	order := "behind"
	if *ahead < 0 {
		order = "ahead of"
	}
	return []string{fmt.Sprintf("The clock of this machine is %s %s that of the API server, whose time this page shows. Correct the clock: other commands use it.", duration.HumanDuration(ahead.Abs()), order)}
}
