package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// canSign reports before the long build that a signature would fail.
func canSign(key string) error {
	if key == "" {
		return nil
	}
	if _, err := exec.LookPath("cosign"); err != nil {
		return fmt.Errorf("a key is given, and %w: install cosign 3 (https://github.com/sigstore/cosign)", err)
	}
	if strings.Contains(key, "://") { // a key management service
		return nil
	}
	if _, err := os.Stat(key); err != nil {
		return fmt.Errorf("the key: %w", err)
	}
	return nil
}

// sign signs the checksums, which cover every other file. A signature is not reproducible.
func (r *release) sign(ctx context.Context, key string) error {
	command := exec.CommandContext(ctx, "cosign", "sign-blob", "--yes", "--key="+key, //nolint:gosec // G204: the user names the key
		"--use-signing-config=false", "--tlog-upload=false", "--bundle="+r.path(checksums+".sigstore.json"), r.path(checksums))
	command.Stdin, command.Env = os.Stdin, os.Environ() // for the password of the key
	_, err := output(command)
	return err
}
