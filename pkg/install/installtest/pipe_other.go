//go:build !unix

package installtest

import "errors"

// NamedPipe returns errors.ErrUnsupported: a directory of this system has no named pipes.
func NamedPipe(string) error { return errors.ErrUnsupported }
