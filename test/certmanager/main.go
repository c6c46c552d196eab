// Command certmanager KUBECONFIG is cert-manager for tests: the controllers that issue from
// SelfSigned and CA issuers, and the cainjector, of cert-manager's own packages, in one
// process. What is left out needs other people's servers (ACME, Vault, Venafi), checks
// what an administrator writes (its webhook), or elects a leader.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: certmanager KUBECONFIG")
		os.Exit(2)
	}
	ctrl.SetLogger(klog.Background())
	if err := run(os.Args[1]); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig string) error {
	told, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	working, ctx := errgroup.WithContext(told)
	working.Go(func() error { return inject(ctx, rest.CopyConfig(config)) })
	working.Go(func() error { return issue(ctx, kubeconfig) })
	return working.Wait()
}

// retryAfter is the pause after a failed request. Tests repair the cause, and cannot wait for the default of one hour.
const retryAfter = time.Second
