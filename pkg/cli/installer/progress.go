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

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

// vigil follows an installation until it is done, or what is in the way stays there.
type vigil struct {
	*Installer
	Installation
	applied      []*unstructured.Unstructured
	subscription managerv1alpha1.SubscriptionReference
	awaited      map[string][]string // versions of definitions that are not served yet
	told         map[string]bool     // lines, at the last look
	began        time.Time
	troubled     time.Time // since when; zero while nothing is in the way
	unseen       bool      // no manager had looked, at the last look
}

// leftover is how long what was said before the command began may still stand.
const leftover = 5 * time.Second

// firstWord is how late a manager that is at work may say so: it has patience of its own with
// an installation that has just begun.
const firstWord = 5 * time.Second

var errDone = errors.New("done")

// ErrInterrupted says that nothing is lost.
var ErrInterrupted = errors.New("interrupted: nothing is taken back; run the same command again to go on")

// await tells each change until the operator is installed, or what is in the way.
func (v *vigil) await(ctx context.Context) error {
	v.began = time.Now()
	atLeast := min(v.Patience, cluster.Heartbeat)
	if !deploy.Reported(v.Bundle.CSV) {
		atLeast = min(atLeast, often)
	}
	err := v.Follow(ctx, v.Namespace(), atLeast, v.look)
	switch {
	case errors.Is(err, errDone):
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w. The manager goes on by itself meanwhile", ErrInterrupted)
	default:
		return err
	}
}

func (v *vigil) look(ctx context.Context) error {
	l, err := v.see(ctx)
	if err != nil {
		return err
	}
	p := deploy.ProgressOf(l)
	v.tell(p.Lines)
	if err := v.serveConverted(ctx, l); err != nil {
		return err
	}
	switch {
	case p.Done && len(v.awaited) == 0:
		return errDone
	case !v.lasts(p):
		return nil
	}
	if relaxed, err := v.serveUnconverted(ctx, l); relaxed || err != nil {
		return err
	}
	return fmt.Errorf("it does not go on: %s", p.Trouble)
}

// lasts tells whether there is trouble that goes on for too long, or for ever. What a manager
// finds when it looks at last is new.
func (v *vigil) lasts(p deploy.Progress) bool {
	now := time.Now()
	switch {
	case p.Trouble == "":
		v.troubled = time.Time{}
	case v.troubled.IsZero() || v.unseen && !p.Unseen:
		v.troubled = now
	}
	v.unseen = p.Unseen
	patience := v.Patience
	if p.Unseen {
		patience = max(patience, firstWord)
	}
	return p.Trouble != "" && (p.Certain || now.Sub(v.troubled) >= patience)
}

// tell says the lines that were not said at the last look.
func (v *vigil) tell(lines []string) {
	before := v.told
	v.told = map[string]bool{}
	for _, line := range lines {
		if v.told[line] = true; !before[line] {
			v.Say("%s", line)
		}
	}
}

func (v *vigil) see(ctx context.Context) (deploy.Look, error) {
	l := deploy.Look{Subscription: v.subscription, Fresh: time.Since(v.began) < leftover}
	var err error
	if l.CSV, err = found(v.OLM.OperatorsV1alpha1().ClusterServiceVersions(v.Namespace()).Get(ctx, v.Bundle.CSV.Name, metav1.GetOptions{})); err != nil || l.CSV == nil {
		return l, err
	}
	if l.Rollout, err = found(v.OLM.ManagerV1alpha1().WebhookRollouts(v.Namespace()).Get(ctx, v.Bundle.CSV.Name, metav1.GetOptions{})); err != nil {
		return l, err
	}
	if l.Warnings, err = v.warnings(ctx, l.CSV); err != nil {
		return l, err
	}
	l.Lag, err = v.lag(ctx, l.CSV)
	return l, err
}

// lag is what is left to be done where only Deployments show it. Where nobody may read them,
// the phase has to do.
func (v *vigil) lag(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion) (*deploy.Lag, error) {
	if deploy.Reported(csv) || csv.Status.Phase != operatorsv1alpha1.CSVPhaseSucceeded {
		return nil, nil
	}
	list, err := v.Kube.AppsV1().Deployments(csv.Namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	live := map[string]*appsv1.Deployment{}
	for i, d := range list.Items {
		live[d.Name] = &list.Items[i]
	}
	subscription, err := found(v.OLM.OperatorsV1alpha1().Subscriptions(csv.Namespace).Get(ctx, v.subscription.Name, metav1.GetOptions{}))
	if err != nil {
		return nil, err
	}
	return deploy.LagOf(csv, subscription, live), nil
}

// often is how often to look where nothing tells of changes but the Deployments themselves.
const often = time.Second

// found is what was read; nil when it does not exist.
func found[T any](object *T, err error) (*T, error) {
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return object, err
}

// subscriptionIn is the Subscription among objects that were applied.
func subscriptionIn(applied []*unstructured.Unstructured) managerv1alpha1.SubscriptionReference {
	for _, o := range applied {
		if groupkind.Is(o, groupkind.Subscription) {
			return managerv1alpha1.SubscriptionReference{Name: o.GetName(), Generation: o.GetGeneration()}
		}
	}
	return managerv1alpha1.SubscriptionReference{}
}
