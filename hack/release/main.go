// Command release writes the files of a release of the commit that is checked out:
//
//	go run . -version v0.1.0 -out DIRECTORY [-key cosign.key] [-discard]
//
// The same commit, built by the same version of Go, gives the same bytes, except for signatures.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "version to release, such as v0.1.0")
	out := flags.String("out", "", "directory to write, which must not exist")
	key := flags.String("key", "", "cosign's private key, a file or the address of a key management service; empty: nothing is signed")
	discard := flags.Bool("discard", false, "compile for each other platform than this machine's with an empty build cache, and remove it: the caches of all need 8 GB")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	if err := canSign(*key); err != nil {
		return err
	}
	tree, err := checkedOut(ctx)
	if err != nil {
		return err
	}
	r, err := newRelease(tree, *version, *out)
	if err != nil {
		return err
	}
	r.discard = *discard
	return r.write(ctx, *key)
}
