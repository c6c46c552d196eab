// Command build builds the programs that tests run, before the tests. With names, it builds these programs
// and prints their paths:
//
//	go run ./test/programs/build [NAME...]
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/programs"
)

func main() { os.Exit(run()) }

func run() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	paths, err := programs.Build(ctx, os.Stderr, os.Args[1:]...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, path := range paths {
		fmt.Println(path)
	}
	return 0
}
