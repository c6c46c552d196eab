// Command containerd is containerd and its client ctr in one binary: it is the one whose name it is started by.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	_ "github.com/containerd/containerd/v2/cmd/containerd/builtins" // the plugins
	"github.com/containerd/containerd/v2/cmd/containerd/command"
	ctr "github.com/containerd/containerd/v2/cmd/ctr/app"
)

func main() {
	name := filepath.Base(os.Args[0])
	run := command.App().Run
	if name == "ctr" {
		run = ctr.New().Run
	}
	if err := run(os.Args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, err)
		os.Exit(1)
	}
}
