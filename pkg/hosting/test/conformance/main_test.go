// Package conformance tests pkg/hosting with a real API server as the client.
package conformance

import (
	"fmt"
	"os"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var cluster *kube.Cluster

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "identity-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	flags, err := identifyAPIServer(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return kube.Run(m, &cluster, flags...)
}
