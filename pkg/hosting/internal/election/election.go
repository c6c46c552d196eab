// Package election elects the process whose controllers run.
package election

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	componentbaseconfig "k8s.io/component-base/config"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/pod"
)

// NewOptions returns the defaults of Kubernetes, in the namespace of the process's pod.
func NewOptions(name string) componentbaseconfig.LeaderElectionConfiguration {
	return componentbaseconfig.LeaderElectionConfiguration{
		LeaderElect:       true,
		LeaseDuration:     metav1.Duration{Duration: 15 * time.Second},
		RenewDeadline:     metav1.Duration{Duration: 10 * time.Second},
		RetryPeriod:       metav1.Duration{Duration: 2 * time.Second},
		ResourceLock:      resourcelock.LeasesResourceLock,
		ResourceName:      name,
		ResourceNamespace: pod.Namespace(),
	}
}

// Lead waits until the process is the leader, and then runs. Losing the Lease is an error: the
// process does not know what the next leader has changed.
func Lead(ctx context.Context, client kubernetes.Interface, o componentbaseconfig.LeaderElectionConfiguration, run func(context.Context) error) error {
	if o.ResourceNamespace == "" {
		return errors.New("--leader-elect needs --leader-elect-resource-namespace outside a pod: set it, or set --leader-elect=false")
	}
	lock, err := newLock(client, o)
	if err != nil {
		return err
	}
	// The Lease is released only when run has returned: the next leader starts at once.
	electing, release := context.WithCancel(context.WithoutCancel(ctx))
	defer release()
	result := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            lock,
		Name:            o.ResourceName,
		LeaseDuration:   o.LeaseDuration.Duration,
		RenewDeadline:   o.RenewDeadline.Duration,
		RetryPeriod:     o.RetryPeriod.Duration,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				defer release()
				running, stop := context.WithCancel(ctx)
				defer stop()
				defer context.AfterFunc(leading, stop)()
				result <- run(running)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		if !elector.IsLeader() {
			release()
		}
	})()
	elector.Run(electing)
	select {
	case err := <-result:
		return err
	default:
	}
	if ctx.Err() == nil {
		return fmt.Errorf("lost the Lease %s/%s", o.ResourceNamespace, o.ResourceName)
	}
	return nil
}

func newLock(client kubernetes.Interface, o componentbaseconfig.LeaderElectionConfiguration) (resourcelock.Interface, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	identity := resourcelock.ResourceLockConfig{Identity: hostname + "_" + string(uuid.NewUUID())}
	return resourcelock.New(o.ResourceLock, o.ResourceNamespace, o.ResourceName, client.CoreV1(), client.CoordinationV1(), identity)
}
