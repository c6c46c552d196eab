package api

import (
	"context"
	"errors"
	"time"
)

const pollEvery = 100 * time.Millisecond

// Poll asks until the answer is nil or the context ends. Then it returns what ended
// the context, if that was given as its cause, and else the last answer that came in
// time: both explain more than that the time was over.
func Poll(ctx context.Context, ask func(context.Context) error) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	var last error
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
				return cause
			}
			return last
		case <-ticker.C:
		}
	}
}
