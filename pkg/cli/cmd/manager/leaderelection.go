package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

type elector struct {
	lock   resourcelock.Interface // nil: no election
	log    *logrus.Logger
	work   func(context.Context)
	health *leaderelection.HealthzAdaptor // It fails when this replica should have renewed the Lease and did not.
}

// newElector returns an elector that works at once if there is no namespace for a Lease.
func newElector(kube kubernetes.Interface, namespace string, log *logrus.Logger, work func(context.Context)) (*elector, error) {
	e := &elector{log: log, work: work, health: leaderelection.NewLeaderHealthzAdaptor(20 * time.Second)}
	if namespace == "" {
		return e, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("leader election: the host name cannot be read: %w", err)
	}
	// Two processes on one host would take the other's Lease for their own.
	identity := host + "_" + string(uuid.NewUUID())
	e.lock = &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: namespace, Name: wellknown.FieldManager},
		Client:     kube.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: identity},
	}
	return e, nil
}

// run gives up the lead only after the last reconciliation is finished, so that two replicas never work at once.
func (e *elector) run(ctx context.Context) error {
	if e.lock == nil {
		e.work(ctx)
		return nil
	}
	lease, giveUp := context.WithCancel(context.WithoutCancel(ctx)) //nolint:forbidigo // The lead ends after the work.
	defer giveUp()
	worked := make(chan struct{})
	election, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock:            e.lock,
		LeaseDuration:   15 * time.Second,
		RenewDeadline:   10 * time.Second,
		RetryPeriod:     2 * time.Second,
		ReleaseOnCancel: true,
		WatchDog:        e.health,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(leading context.Context) {
				defer close(worked)
				e.log.Info("this replica leads")
				working, stop := context.WithCancel(leading)
				defer context.AfterFunc(ctx, stop)()
				e.work(working)
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return err
	}
	stopWaiting := context.AfterFunc(ctx, func() {
		if election.IsLeader() {
			<-worked
		}
		giveUp()
	})
	defer stopWaiting()
	election.Run(lease)
	if ctx.Err() == nil {
		return errors.New("the lead was lost: the Lease could not be renewed in time")
	}
	return nil
}
