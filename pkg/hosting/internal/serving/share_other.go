//go:build !unix

package serving

import (
	"errors"
	"syscall"
)

func shareSocket(_ syscall.RawConn, address, port bool) error {
	if address || port {
		return errors.New("--permit-address-sharing and --permit-port-sharing are not supported on this platform")
	}
	return nil
}
