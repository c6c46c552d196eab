package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"k8s.io/klog/v2"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/httperror"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/limits"
)

type result struct {
	answer  []byte
	outcome outcome
	err     error
}

// run runs the handler until it returns, which may be after the end of the call. The handler owns
// the body until then. A panic fails only this call.
func (e *endpoint) run(ctx context.Context, body *limits.Body, done chan<- result) {
	r := result{outcome: failed, err: httperror.Internal(errors.New("the handler ended its goroutine"))}
	defer func() {
		if cause := recover(); cause != nil {
			klog.ErrorS(nil, "A handler panicked", "webhook", e.name, "cause", cause, "stack", string(debug.Stack()))
			r = result{outcome: panicked, err: httperror.Internal(fmt.Errorf("the handler panicked: %v", cause))}
		}
		body.ReleaseDecoded()
		done <- r
	}()
	r = e.answer(ctx, body.Data)
}

func (e *endpoint) answer(ctx context.Context, body []byte) result {
	review, outcome, err := e.webhook.Handler.answer(ctx, e.webhook, body)
	if err != nil {
		return result{outcome: outcome, err: err}
	}
	answer, err := json.Marshal(review)
	if err != nil {
		return result{outcome: failed, err: httperror.Internal(fmt.Errorf("cannot encode the answer: %w", err))}
	}
	return result{answer: answer, outcome: outcome}
}
