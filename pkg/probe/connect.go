package probe

import (
	"context"
	"net"
	"time"
)

// firstPatience is how long the first connection to an address may take. Each one after it may
// take twice as long as the previous one.
const firstPatience = 100 * time.Millisecond

// connect gives up a connection without an answer, and starts another. Nodes learn of new
// endpoints one after the other, and swallow until then what is sent to their Service; TCP
// repeats what was swallowed only after a second (RFC 6298), for which a webhook that serves
// would have to wait.
func (o Options) connect(ctx context.Context, address string) (net.Conn, error) {
	for patience := firstPatience; ; patience *= 2 {
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
