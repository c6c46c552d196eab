package rollout

import (
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// reasonVersionAwaited is that of a rollout whose webhooks are all in service, and convert to
// a version that is not served yet.
const reasonVersionAwaited = "VersionAwaited"

// awaits is which versions whoever installs the ClusterServiceVersion has yet to serve, now
// that its webhooks convert to them; empty while they do not, or when there are none.
func (p *planner) awaits(f phase.Facts) string {
	if len(p.Verdict.Awaited) == 0 || f.Waits != "" {
		return ""
	}
	return strings.Join(p.Verdict.Awaited, ", ") + " to be served: its webhook converts, and whoever installs it adds the version now (bundle upgrade does; interrupted, run it again)"
}

// awaitVersions holds the installation up until all versions are served, for as long as it
// would wait for a Deployment.
func (p *planner) awaitVersions(f *phase.Facts) {
	f.Awaits = p.awaits(*f)
	if f.Awaits == "" {
		return
	}
	f.Waits = f.Awaits
	var last time.Time
	for _, d := range p.deployments {
		last = workload.Later(last, p.deadline(d))
	}
	if p.lookAgain(last); !last.IsZero() && !last.After(p.now) {
		f.TimedOut = f.Awaits
	}
}
