package probe

import (
	"cmp"
	"context"
	"net"
	"time"
)

// defaultPatience is how long the first connection may take.
const defaultPatience = 100 * time.Millisecond

// connect retries early: nodes swallow what is sent to a Service until they observe new endpoints, and TCP
// repeats it only after a second (RFC 6298).
func (o Options) connect(ctx context.Context, address string) (net.Conn, error) {
	for patience := cmp.Or(o.Patience, defaultPatience); ; patience *= 2 {
		within, cancel := context.WithTimeout(ctx, patience)
		conn, err := o.dial(within, address)
		cancel()
		if !isTimeout(err) || ctx.Err() != nil {
			return conn, err
		}
	}
}

func (o Options) dial(ctx context.Context, address string) (net.Conn, error) {
	if o.Dial != nil {
		return o.Dial(ctx, address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
