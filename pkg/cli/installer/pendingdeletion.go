package installer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/leader"
)

type pendingDeletion struct{ *Installer }

func (d pendingDeletion) wait(ctx context.Context, client dynamic.ResourceInterface, i Installation, o *unstructured.Unstructured) error {
	var last deploy.PendingDeletion
	since := time.Now()
	return wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		live, err := client.Get(ctx, o.GetName(), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if live.GetUID() != o.GetUID() {
			return true, nil
		}
		hold := d.observe(ctx, live)
		if hold.Remaining() != last.Remaining() {
			since = time.Now()
		}
		if hold.ManagerMessage != "" && hold.ManagerMessage != last.ManagerMessage {
			i.Print("waiting for %s: %s", deploy.Title(o), hold.ManagerMessage)
		}
		last = hold
		if time.Since(since) < i.Timeout {
			return false, nil
		}
		return false, fmt.Errorf("the removal does not progress: %s is still being deleted: %s; then run the same command again", deploy.Title(o), hold.Cause())
	})
}

// observe returns what prevents the deletion of an object. It omits what cannot be read.
func (d pendingDeletion) observe(ctx context.Context, o *unstructured.Unstructured) deploy.PendingDeletion {
	hold := deploy.PendingDeletion{Namespace: o.GetNamespace(), Finalizers: o.GetFinalizers()}
	switch groupkind.Of(o) {
	case groupkind.ClusterServiceVersion:
		hold.ManagerMessage = d.blockedBy(ctx, o)
		if leases, err := d.Leases(ctx, metav1.NamespaceAll); err == nil {
			for _, away := range leader.AwayOf(leases, time.Now()) {
				hold.LeaseMessage = strings.TrimPrefix(fmt.Sprintf("%s, and no manager has held Lease %s since %s", hold.LeaseMessage, away.Lease, away.Since.UTC().Format(time.RFC3339)), ", and ")
			}
		}
	case groupkind.CustomResourceDefinition:
		hold.Objects = deploy.UnknownCount
		if crd, err := d.definitions.get(ctx, o.GetName()); err == nil && crd != nil {
			if c := apihelpers.FindCRDCondition(crd, apiextensionsv1.Terminating); c != nil {
				hold.APIServerMessage = fmt.Sprintf("%s: %s", c.Reason, c.Message)
			}
			hold.Objects, hold.Finalized = d.remainingObjects(ctx, crd)
		}
	}
	return hold
}

func (d pendingDeletion) blockedBy(ctx context.Context, o *unstructured.Unstructured) string {
	rollout, err := d.OLM.WebhookRollouts(o.GetNamespace()).Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil {
		return ""
	}
	for _, kind := range []string{managerv1alpha1.ConditionUnregistrationRefused, managerv1alpha1.ConditionConversionInUse} {
		if c := meta.FindStatusCondition(rollout.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}

const (
	maxListed = 100
	maxNamed  = 3
)

func (d pendingDeletion) remainingObjects(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) (n int, held []string) {
	version := storedversions.Readable(crd)
	if version == "" {
		return deploy.UnknownCount, nil
	}
	list, err := d.Metadata.Resource(resourceOf(crd, version)).List(ctx, metav1.ListOptions{Limit: maxListed})
	if err != nil {
		return deploy.UnknownCount, nil
	}
	for _, object := range list.Items {
		if len(object.Finalizers) == 0 || len(held) == maxNamed {
			continue
		}
		name := strings.TrimPrefix(object.Namespace+"/"+object.Name, "/")
		held = append(held, fmt.Sprintf("%s %s (%s)", crd.Spec.Names.Kind, name, strings.Join(object.Finalizers, ", ")))
	}
	n = len(list.Items)
	if list.RemainingItemCount != nil {
		n += int(*list.RemainingItemCount)
	}
	return n, held
}
