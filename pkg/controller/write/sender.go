package write

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// How long a Sender waits for the answer to a write.
const (
	longestWait  = 35 * time.Second // the API server ends a request after 34 s
	shortestWait = time.Second
	// reservedTime is what a reconciliation has left after its writes, for reads and probes.
	reservedTime = 10 * time.Second
)

// ErrNoAnswer is the error of a write that was not answered in time, or not sent.
var ErrNoAnswer = errors.New("no answer")

// Sender sends the steps of one reconciliation. Once a step was not answered, the others share the time left.
type Sender struct {
	*Writer
	// CSV is the ClusterServiceVersion of the steps. With an Installer, some of them need its permissions.
	CSV        types.NamespacedName
	Installer  scope.Installer
	unanswered bool
}

// Send sends one step. IsUnanswered is true for the error of a step that is not answered in time.
func (s *Sender) Send(ctx context.Context, namespace string, step rollout.Step) (written, existing drift.Object, err error) {
	wait := longestWait
	if end, limited := ctx.Deadline(); limited {
		wait = waitFor(time.Until(end), s.unanswered)
	}
	if wait == 0 {
		return nil, nil, fmt.Errorf("%w to earlier writes, and no time is left for this one", ErrNoAnswer)
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	written, existing, err = s.send(ctx, namespace, step)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w in time, perhaps because of a webhook that does not answer", ErrNoAnswer)
	}
	s.unanswered = s.unanswered || IsUnanswered(err)
	if err != nil {
		err = stable{err}
	}
	return written, existing, err
}

func (s *Sender) send(ctx context.Context, namespace string, step rollout.Step) (written, existing drift.Object, err error) {
	if s.Installer.IsManager() || !step.ByInstaller(s.CSV) {
		return s.Writer.Send(ctx, namespace, step)
	}
	if obstacle := s.Installer.Obstacle(); obstacle != "" {
		return nil, nil, &InstallerError{text: obstacle}
	}
	account, err := s.Accounts.Of(s.Installer.User())
	if err != nil {
		return nil, nil, err
	}
	written, existing, err = s.sendAs(ctx, account, namespace, step)
	return written, existing, explain(s.Installer, err)
}

// waitFor returns zero if the write is not sent. left is the time until the end of the reconciliation.
func waitFor(left time.Duration, unanswered bool) time.Duration {
	left -= reservedTime
	switch {
	case !unanswered:
		return min(max(left, shortestWait), longestWait)
	case left < shortestWait:
		return 0
	default:
		return max(left/3, shortestWait)
	}
}
