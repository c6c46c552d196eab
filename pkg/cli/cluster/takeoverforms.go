package cluster

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	rollouttakeover "github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
)

// Forms marks the Deployments that are not what olm-operator makes of their ClusterServiceVersion now. The manager
// brings them into its own form at once. It also adds what run changes in other objects. notChecked is what the user may not read.
func (c TakeoverReader) Forms(ctx context.Context, s *takeover.Snapshot) (notChecked []string, err error) {
	csvs, _, err := c.csvs(ctx, metav1.NamespaceAll)
	if err != nil {
		return nil, err
	}
	for i := range csvs {
		csv := &csvs[i]
		j := slices.IndexFunc(s.CSVs, func(known takeover.CSV) bool { return known.Namespace == csv.Namespace && known.Name == csv.Name })
		if j < 0 {
			continue
		}
		subscription, err := c.subscriptionOf(ctx, csv, csvs)
		if err != nil {
			return nil, err
		}
		unread, err := c.formsOf(ctx, csv, subscription, &s.CSVs[j])
		if err != nil {
			return nil, err
		}
		notChecked = append(notChecked, unread...)
	}
	return lists.Sorted(notChecked), nil
}

func (c TakeoverReader) formsOf(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, subscription *operatorsv1alpha1.Subscription, to *takeover.CSV) (notChecked []string, err error) {
	deployments, err := c.Kube.AppsV1().Deployments(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for k := range to.Deployments {
		d := &to.Deployments[k]
		at := slices.IndexFunc(deployments.Items, func(live appsv1.Deployment) bool { return live.Name == d.Name })
		if at >= 0 {
			d.OtherForm, d.Reverted = formOf(csv, subscription, &deployments.Items[at])
		}
	}
	in, notChecked, err := c.inputOf(ctx, csv, subscription)
	if err != nil {
		return nil, err
	}
	to.Reverted = lists.Map(in.RevertedBeside(), func(d rollouttakeover.Difference) takeover.Reverted {
		return takeover.Reverted{Object: objectOf(d), Fields: d.Fields}
	})
	live, unread, err := c.live(ctx, csv, deployments.Items)
	for _, d := range to.Deployments {
		if d.OtherForm {
			live.OwnForm = append(live.OwnForm, lists.Map(in.ManagersBeside(d.Name), objectOf)...)
		}
	}
	to.Changes = takeover.ChangesOf(live)
	return append(notChecked, unread...), err
}

func objectOf(d rollouttakeover.Difference) takeover.Object {
	return takeover.Object{Kind: drift.KindOf(d.Object), Namespace: d.Object.GetNamespace(), Name: d.Object.GetName()}
}

// formOf reports whether a Deployment is neither what olm-operator makes of it, nor in the manager's form, and which fields
// differ from what olm-operator wrote. The proxy is that of the pods, if they have one.
func formOf(csv *operatorsv1alpha1.ClusterServiceVersion, subscription *operatorsv1alpha1.Subscription, live *appsv1.Deployment) (other bool, reverted []string) {
	config := subscriptions.ConfigOf(subscription)
	for _, spec := range csvspec.Deployments(csv) {
		if spec.Name != live.Name || live.Spec.Template.Labels[wellknown.LabelCSV] != "" {
			continue
		}
		for _, config := range []subscriptions.Config{config, config.WithProxy(subscriptions.ProxyIn(live.Spec.Template.Spec))} {
			in := render.Input{CSV: csv, Config: config}
			if rollouttakeover.MadeByOLM(in, spec, live) {
				return false, rollouttakeover.Reverted(in, spec, live)
			}
		}
		return true, nil
	}
	return false, nil
}

// subscriptionOf returns the Subscription of a ClusterServiceVersion; nil if there is none.
func (c TakeoverReader) subscriptionOf(ctx context.Context, csv *operatorsv1alpha1.ClusterServiceVersion, csvs []operatorsv1alpha1.ClusterServiceVersion) (*operatorsv1alpha1.Subscription, error) {
	list, err := c.OLM.Subscriptions(csv.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		_, err = c.isUnknownKind(ctx, err, operatorsv1alpha1.SchemeGroupVersion.WithResource("subscriptions"))
		return nil, err
	}
	versions := lists.FilterMap(csvs, func(v operatorsv1alpha1.ClusterServiceVersion) (*operatorsv1alpha1.ClusterServiceVersion, bool) {
		return &v, v.Namespace == csv.Namespace
	})
	all := lists.Map(list.Items, func(s operatorsv1alpha1.Subscription) *operatorsv1alpha1.Subscription { return &s })
	return subscriptions.Find(csv, subscriptions.Lister{
		Naming: func(name string) []*operatorsv1alpha1.Subscription {
			return lists.Filter(all, func(s *operatorsv1alpha1.Subscription) bool { return slices.Contains(subscriptions.CSVNames(s), name) })
		},
		Named: func(name string) *operatorsv1alpha1.ClusterServiceVersion {
			return lists.First(versions, func(v *operatorsv1alpha1.ClusterServiceVersion) bool { return v.Name == name })
		},
		Replacing: func(name string) []*operatorsv1alpha1.ClusterServiceVersion {
			return lists.Filter(versions, func(v *operatorsv1alpha1.ClusterServiceVersion) bool { return v.Spec.Replaces == name })
		},
	}), nil
}
