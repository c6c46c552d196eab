package hosting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// answered is what became of one call of a handler.
type answered struct {
	answer []byte
	said   outcome
	err    error
}

// handle runs the handler to its end, which may be after the call's: the body is the
// handler's until then. A panic fails the call that it happened in.
func (e *endpoint) handle(ctx context.Context, body *body, done chan<- answered) {
	a := answered{said: failed, err: internalError(errors.New("the handler ended its goroutine"))}
	defer func() {
		if cause := recover(); cause != nil {
			klog.Errorf("Webhook %s panicked: %v\n%s", e.name, cause, debug.Stack())
			a = answered{said: panicked, err: internalError(fmt.Errorf("the handler panicked: %v", cause))}
		}
		body.release()
		e.load.end()
		done <- a
	}()
	a = e.answer(ctx, body.data)
}

func (e *endpoint) answer(ctx context.Context, body []byte) answered {
	review, said, err := e.webhook.Handler.answer(ctx, e.webhook, body)
	if err != nil {
		return answered{said: said, err: err}
	}
	answer, err := json.Marshal(review)
	if err != nil {
		return answered{said: failed, err: internalError(fmt.Errorf("the answer cannot be encoded: %w", err))}
	}
	return answered{answer: answer, said: said}
}
