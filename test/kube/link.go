package kube

import (
	"context"
	"io"
	"net"
	"sync"
)

// link forwards connections, and can hold what the other side sends.
type link struct {
	listener net.Listener
	upstream string

	mutex   sync.Mutex
	held    bool
	changed *sync.Cond
}

func newLink(ctx context.Context, listen, upstream string) (*link, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", listen)
	if err != nil {
		return nil, err
	}
	l := &link{listener: listener, upstream: upstream}
	l.changed = sync.NewCond(&l.mutex)
	go l.accept(ctx)
	return l, nil
}

func (l *link) address() string { return l.listener.Addr().String() }

// close ends the link to new connections. Existing ones continue.
func (l *link) close() {
	l.listener.Close()
	l.release()
}

func (l *link) hold() { l.set(true) }

func (l *link) release() { l.set(false) }

func (l *link) set(held bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.held = held
	l.changed.Broadcast()
}

func (l *link) accept(ctx context.Context) {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.forward(ctx, client)
	}
}

func (l *link) forward(ctx context.Context, client net.Conn) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(ctx, "tcp4", l.upstream)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(gate{client, l}, server)
}

// gate writes to a connection while its link is not held.
type gate struct {
	io.Writer

	link *link
}

func (g gate) Write(p []byte) (int, error) {
	g.link.await()
	return g.Writer.Write(p)
}

func (l *link) await() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for l.held {
		l.changed.Wait()
	}
}
