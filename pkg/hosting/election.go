package hosting

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
)

// newElectionOptions are Kubernetes' own defaults. The namespace is the pod's.
func newElectionOptions(name string) componentbaseconfig.LeaderElectionConfiguration {
	return componentbaseconfig.LeaderElectionConfiguration{
		LeaderElect:       true,
		LeaseDuration:     metav1.Duration{Duration: 15 * time.Second},
		RenewDeadline:     metav1.Duration{Duration: 10 * time.Second},
		RetryPeriod:       metav1.Duration{Duration: 2 * time.Second},
		ResourceLock:      resourcelock.LeasesResourceLock,
		ResourceName:      name,
		ResourceNamespace: podNamespace(),
	}
}

// podNamespace is where the process runs, or empty outside a pod.
func podNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	namespace, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		return ""
	}
	return string(namespace)
}

// lead waits to be the leader and then runs. To lose the lead is an error: who has lost it
// cannot know what the next leader has done meanwhile.
func lead(ctx context.Context, client kubernetes.Interface, o componentbaseconfig.LeaderElectionConfiguration, run func(context.Context) error) error {
	if o.ResourceNamespace == "" {
		return errors.New("--leader-elect needs --leader-elect-resource-namespace outside a pod; or say --leader-elect=false")
	}
	lock, err := newLock(client, o)
	if err != nil {
		return err
	}
	// The lead is given up only when run has returned: the next leader starts at once.
	electing, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
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
				defer giveUp()
				working, stop := context.WithCancel(ctx)
				defer stop()
				defer context.AfterFunc(leading, stop)()
				result <- run(working)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("leader election: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		if !elector.IsLeader() {
			giveUp()
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
