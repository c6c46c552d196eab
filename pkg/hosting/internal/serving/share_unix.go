//go:build unix

package serving

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

func shareSocket(conn syscall.RawConn, address, port bool) error {
	var errs []error
	err := conn.Control(func(fd uintptr) {
		if address {
			errs = append(errs, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
		}
		if port {
			errs = append(errs, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
		}
	})
	return errors.Join(append(errs, err)...)
}
