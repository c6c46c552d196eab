package olm

import (
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// subscribe creates a Subscription with the name of its package.
func (e *env) subscribe(spec operatorsv1alpha1.SubscriptionSpec) {
	e.Helper()
	spec.CatalogSource, spec.CatalogSourceNamespace = catalogName, e.namespace
	kube.Create(e, olmClient.Subscriptions(e.namespace), &operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Name: spec.Package}, Spec: &spec})
}

// changes patches the spec of a Subscription.
func (e *env) changes(subscription string, spec map[string]any) {
	e.Helper()
	patch, err := json.Marshal(map[string]any{"spec": spec})
	e.must(err)
	kube.Patch(e, olmClient.Subscriptions(e.namespace), subscription, types.MergePatchType, patch)
}

// installs waits until a version has succeeded, and the Subscription reports it as the installed one.
func (e *env) installs(subscription, csv string) {
	e.Helper()
	e.succeeds(csv)
	e.eventually(fmt.Sprintf("%s is the installed version", csv), func() (bool, any) {
		status := kube.Get(e, olmClient.Subscriptions(e.namespace), subscription).Status
		return status.InstalledCSV == csv && status.State == operatorsv1alpha1.SubscriptionStateAtLatest, status
	})
}

func (e *env) succeeds(csv string) {
	e.Helper()
	e.reaches(csv, operatorsv1alpha1.CSVPhaseSucceeded)
}

// reaches waits until a version exists and has a phase.
func (e *env) reaches(csv string, phase operatorsv1alpha1.ClusterServiceVersionPhase) {
	e.Helper()
	e.eventually(fmt.Sprintf("%s is %s", csv, phase), func() (bool, any) {
		live, err := olmClient.ClusterServiceVersions(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, err
		}
		e.must(err)
		return live.Status.Phase == phase, fmt.Sprintf("%s/%s: %s", live.Status.Phase, live.Status.Reason, csvstatus.Explained(live.Status))
	})
}

func (e *env) isGone(csv string) {
	e.Helper()
	e.eventually(csv+" no longer exists", func() (bool, any) {
		live, err := olmClient.ClusterServiceVersions(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
		return apierrors.IsNotFound(err), live.Status.Message
	})
}

// versions returns the names of the ClusterServiceVersions.
func (e *env) versions() (names []string) {
	e.Helper()
	for _, csv := range kube.List(e, olmClient.ClusterServiceVersions(e.namespace), metav1.ListOptions{}).Items {
		names = append(names, csv.Name)
	}
	return names
}

// watchVersions records which ClusterServiceVersions exist from now on, in the order of their creation.
func (e *env) watchVersions() (recorded func() []string) {
	e.Helper()
	client := olmClient.ClusterServiceVersions(e.namespace)
	list := kube.List(e, client, metav1.ListOptions{})
	names := e.versions()
	watch := kube.Watch(e, client, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range watch.ResultChan() {
			if csv, ok := event.Object.(*operatorsv1alpha1.ClusterServiceVersion); ok && !slices.Contains(names, csv.Name) {
				names = append(names, csv.Name)
			}
		}
	}()
	return func() []string {
		watch.Stop()
		<-ended
		return names
	}
}
