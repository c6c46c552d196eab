package installer

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

type watch struct {
	*Installer
	Installation
	applied      []*unstructured.Unstructured
	subscription managerv1alpha1.SubscriptionReference
	awaited      map[string][]string // versions of definitions that are not served yet
	printed      map[string]bool     // lines, at the last observation
	began        time.Time
	problemSince time.Time // since when; zero while nothing is in the way
	unobserved   bool      // no manager had reconciled, at the last observation
}

// staleStatus is how long a status may predate the command.
const staleStatus = 5 * time.Second

// managerTimeout is the status update delay of a running manager for an installation that has just begun.
const managerTimeout = 5 * time.Second

var errDone = errors.New("done")

// ErrInterrupted states that nothing is lost.
var ErrInterrupted = errors.New("interrupted: nothing is undone; run the same command again to continue")

func (v *watch) wait(ctx context.Context) error {
	v.began = time.Now()
	atLeast := min(v.Timeout, cluster.ResyncPeriod)
	if !csvspec.HasRegistrations(v.Bundle.CSV) {
		atLeast = min(atLeast, pollInterval)
	}
	err := v.Watch(ctx, v.Namespace(), atLeast, v.reconcile)
	switch {
	case errors.Is(err, errDone):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w. The manager continues on its own", ErrInterrupted)
	default:
		return err
	}
}

func (v *watch) reconcile(ctx context.Context) error {
	l, err := v.observe(ctx)
	if err != nil {
		return err
	}
	p := deploy.ProgressOf(l)
	v.print(p.Lines)
	if _, err := v.serve(ctx, l, false); err != nil {
		return err
	}
	switch {
	case p.Done && len(v.awaited) == 0:
		return errDone
	case !v.hasTimedOut(p):
		return nil
	}
	served, err := v.serve(ctx, l, true)
	if served {
		v.problemSince = time.Time{}
	}
	if served || err != nil {
		return err
	}
	return fmt.Errorf("the installation does not progress: %s", p.Problem)
}

// hasTimedOut restarts the time of a problem when the manager reconciles for the first time.
func (v *watch) hasTimedOut(p deploy.Progress) bool {
	now := time.Now()
	switch {
	case p.Problem == "":
		v.problemSince = time.Time{}
	case v.problemSince.IsZero() || v.unobserved && !p.Unobserved:
		v.problemSince = now
	}
	v.unobserved = p.Unobserved
	patience := v.Timeout
	if p.Unobserved {
		patience = max(patience, managerTimeout)
	}
	return p.Problem != "" && (p.Permanent || now.Sub(v.problemSince) >= patience)
}

func (v *watch) print(lines []string) {
	before := v.printed
	v.printed = map[string]bool{}
	for _, line := range lines {
		if v.printed[line] = true; !before[line] {
			v.Print("%s", line)
		}
	}
}

func (v *watch) observe(ctx context.Context) (deploy.Observation, error) {
	l := deploy.Observation{Subscription: v.subscription, MayBeStale: time.Since(v.began) < staleStatus}
	var err error
	if l.CSV, err = orNil(v.OLM.ClusterServiceVersions(v.Namespace()).Get(ctx, v.Bundle.CSV.Name, metav1.GetOptions{})); err != nil || l.CSV == nil {
		return l, err
	}
	if l.Rollout, err = orNil(v.OLM.WebhookRollouts(v.Namespace()).Get(ctx, v.Bundle.CSV.Name, metav1.GetOptions{})); err != nil {
		return l, err
	}
	if l.Warnings, err = v.warnings(ctx, l.CSV); err != nil {
		return l, err
	}
	l.Pending, err = v.pendingDeployment(ctx, l.CSV)
	return l, err
}

// pendingDeployment returns nil if Deployments may not be read: then only the phase counts.
func (v *watch) pendingDeployment(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (*deploy.PendingDeployment, error) {
	if csvspec.HasRegistrations(csv) || csv.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
		return nil, nil
	}
	list, err := v.Kube.AppsV1().Deployments(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, utilerrors.FilterOut(err, apierrors.IsForbidden)
	}
	live := map[string]*appsv1.Deployment{}
	for i, d := range list.Items {
		live[d.Name] = &list.Items[i]
	}
	subscription, err := orNil(v.OLM.Subscriptions(csv.Namespace).Get(ctx, v.subscription.Name, metav1.GetOptions{}))
	if err != nil {
		return nil, err
	}
	return deploy.FirstPendingDeployment(csv, subscription, live), nil
}

// pollInterval is the interval between polls of Deployments, which no watch reports.
const pollInterval = time.Second

func subscriptionIn(applied []*unstructured.Unstructured) managerv1alpha1.SubscriptionReference {
	for _, o := range applied {
		if groupkind.Is(o, groupkind.Subscription) {
			return managerv1alpha1.SubscriptionReference{Name: o.GetName(), Generation: o.GetGeneration()}
		}
	}
	return managerv1alpha1.SubscriptionReference{}
}
