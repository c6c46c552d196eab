// Command containerd-shim-runc-v2 is the process that containerd starts for each
// pod. It is a binary of its own, because the plugins of containerd and those of
// the shim register themselves under the same names.
package main

import (
	"context"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/manager"
	_ "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/task/plugin" // the task service
	"github.com/containerd/containerd/v2/pkg/shim"
)

func main() {
	shim.Run(context.Background(), manager.NewShimManager("io.containerd.runc.v2"))
}
