// Package balance forwards TCP connections to several servers, each new one to the next server that takes connections.
package balance

import (
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// dialWithin is how long a server may take to accept a connection. All of them are on this machine.
const dialWithin = time.Second

// Balancer forwards connections to the servers that SetServers named last.
type Balancer struct {
	mutex   sync.Mutex
	servers []string
	next    int
}

// SetServers replaces the addresses of the servers. Existing connections continue.
func (b *Balancer) SetServers(addresses []string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.servers = addresses
}

// Serve forwards connections until the listener is closed.
func (b *Balancer) Serve(listener net.Listener) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go b.forward(client)
	}
}

// forward closes the client's connection if no server takes one.
func (b *Balancer) forward(client net.Conn) {
	defer client.Close()
	dialer := net.Dialer{Timeout: dialWithin}
	for _, address := range b.order() {
		server, err := dialer.DialContext(context.Background(), "tcp", address)
		if err != nil {
			continue
		}
		join(client, server)
		return
	}
}

// order returns all servers: first the one whose turn it is.
func (b *Balancer) order() []string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	n := len(b.servers)
	if n == 0 {
		return nil
	}
	first := b.next % n
	b.next++
	return append(append(make([]string, 0, n), b.servers[first:]...), b.servers[:first]...)
}

// join copies in both directions. When one of them ends, it ends the other one.
func join(client, server net.Conn) {
	var copies sync.WaitGroup
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		copies.Go(func() {
			_, _ = io.Copy(pair[0], pair[1]) // the end of either side ends both
			pair[0].Close()
			pair[1].Close()
		})
	}
	copies.Wait()
}
