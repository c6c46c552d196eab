package integration

import (
	"testing"
	"time"
)

// A certificate that expired while no manager was running, or that a clock which was set back has not
// begun, is useless: the next one is given to pods as soon as it is trusted.
func TestCertificateOfAnotherTime(t *testing.T) {
	for name, age := range map[string]time.Duration{"it ended": 91 * 24 * time.Hour, "it has not begun": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			runOperator(e).stop()
			e.age(age)
			e.manage()
			rotates(e, 2)
			e.succeeds("operator.v1")
		})
	}
}
