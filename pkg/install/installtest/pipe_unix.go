//go:build unix

package installtest

import "syscall"

// NamedPipe creates a named pipe in a directory.
func NamedPipe(path string) error { return syscall.Mkfifo(path, 0o600) }
