package kube

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestReserve(t *testing.T) {
	address := Reserve(t, "127.0.0.1").String()
	if _, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a connection to it ends with %v", err)
	}
	// A process that asks for any port gets a free one, unlike one that asks for a certain port.
	alone := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) (err error) {
		return errors.Join(conn.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)
		}), err)
	}}
	if _, err := alone.Listen(context.Background(), "tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("it is free for anybody: %v", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("who asks for it cannot listen there: %v", err)
	}
	defer listener.Close()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("who listens there is not reached: %v", err)
	}
	conn.Close()
}
