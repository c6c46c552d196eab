package kube

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// binaries returns the directory of the binaries, which make programs builds.
func binaries(ctx context.Context) (string, error) {
	module, err := moduleNextTo("cluster")
	if err != nil {
		return "", err
	}
	bin, err := goOutput(ctx, module, "run", "./cmd/cluster", "path", "--light")
	if err != nil {
		return "", fmt.Errorf("find etcd and kube-apiserver with go run -C %s ./cmd/cluster path --light: %w", module, err)
	}
	return bin, nil
}

// moduleNextTo finds a module of test/ next to the package under test, or above it.
func moduleNextTo(name string) (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		module := filepath.Join(dir, "test", name)
		if _, err := os.Stat(filepath.Join(module, "go.mod")); err == nil {
			return module, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no test/%s at or above %s: run the tests in a checkout, or set KUBECONFIG to use a cluster that you have", name, start)
		}
	}
}
