package cluster

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
	rollouttakeover "github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
)

// Workloads adds the Deployments of each ClusterServiceVersion, with the PodDisruptionBudgets of their pods.
func (c TakeoverReader) Workloads(ctx context.Context, s *takeover.Snapshot) error {
	byNamespace := map[string]*namespaceWorkloads{}
	for i := range s.CSVs {
		csv := &s.CSVs[i]
		workloads, read := byNamespace[csv.Namespace]
		if !read {
			var err error
			if workloads, err = c.namespaceWorkloads(ctx, csv.Namespace); err != nil {
				return err
			}
			byNamespace[csv.Namespace] = workloads
			s.NotChecked = append(s.NotChecked, workloads.unread...)
		}
		csv.Deployments, csv.Objects, csv.BudgetsUnread = nil, nil, workloads.budgetsUnread
		for _, d := range workloads.deployments {
			if !ownedBy(d.ObjectMeta, *csv) {
				continue
			}
			csv.Deployments = append(csv.Deployments, takeover.Deployment{
				Name: d.Name, Replicas: ptr.Deref(d.Spec.Replicas, 1), Available: d.Status.AvailableReplicas, Recreate: d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType,
				EditedBy: takeover.EditorsOf(d.ManagedFields, "f:spec"), Budgets: workloads.blocking(d),
				Lacked: rollouttakeover.LackedAnnotations(csv.Annotations, &d),
			})
			csv.Objects = append(csv.Objects, takeover.Object{Kind: takeover.KindDeployment, Namespace: d.Namespace, Name: d.Name})
		}
		csv.Objects = append(csv.Objects, lists.FilterMap(workloads.others, func(o ownedObject) (takeover.Object, bool) {
			return takeover.Object{Kind: o.kind, Namespace: o.Namespace, Name: o.Name}, ownedBy(o.ObjectMeta, *csv)
		})...)
	}
	return nil
}

// Registrations adds the registrations of each ClusterServiceVersion, and what keeps them from serving. It dials their
// pods.
func (c TakeoverReader) Registrations(ctx context.Context, s *takeover.Snapshot, now time.Time) (notChecked []string, err error) {
	facts, err := c.Examine(ctx, false)
	if err != nil {
		return nil, err
	}
	edits, err := c.editedConfigurations(ctx)
	if err != nil {
		return nil, err
	}
	for i := range s.CSVs {
		csv := &s.CSVs[i]
		csv.Problems = nil
		for _, w := range facts.Webhooks {
			if !registeredFor(w, facts, *csv) {
				continue
			}
			object := takeover.Object{Kind: w.Kind, Name: w.Object}
			if !slices.Contains(csv.Objects, object) {
				csv.Objects = append(csv.Objects, object)
				if by := edits[object]; len(by) > 0 {
					csv.EditedRegistrations = append(csv.EditedRegistrations, takeover.Edit{Object: object, By: by})
				}
			}
			if reach := doctor.ReachOf(w, facts, now); reach.Broken() {
				csv.Problems = append(csv.Problems, takeover.Problem{Object: w.String(), Code: reach.Code, Message: reach.Message})
			}
		}
	}
	if asked, ready := doctor.Asked(facts); asked < ready {
		notChecked = append(notChecked, fmt.Sprintf("%d of %d endpoints of webhooks were not dialled: the user needs the permission to create pods/portforward", ready-asked, ready))
	}
	return notChecked, nil
}

func registeredFor(w doctor.Webhook, f doctor.Facts, csv takeover.CSV) bool {
	owner := doctor.OwnerNamed(csv.Namespace, csv.Name)
	if w.Kind == doctor.Conversion {
		return f.Services[w.Service].Owner == owner || w.Service.Namespace == csv.Namespace && slices.ContainsFunc(csv.Objects, func(o takeover.Object) bool {
			return o.Kind == kindService && o.Name == w.Service.Name
		})
	}
	return w.Owner == owner
}

const kindService = "Service"

// namespaceWorkloads are the objects of a namespace that ClusterServiceVersions own.
type namespaceWorkloads struct {
	deployments []appsv1.Deployment
	others      []ownedObject
	budgets     []policyv1.PodDisruptionBudget
	// budgetsUnread is set if the user may not list the budgets.
	budgetsUnread bool
	// unread are the other kinds that the user may not list.
	unread []string
}

type ownedObject struct {
	metav1.ObjectMeta

	kind string
}

func (c TakeoverReader) namespaceWorkloads(ctx context.Context, namespace string) (*namespaceWorkloads, error) {
	w := &namespaceWorkloads{}
	deployments, err := c.Kube.AppsV1().Deployments(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	w.deployments = deployments.Items
	for _, kind := range []struct{ resource, kind string }{{"services", kindService}, {"secrets", "Secret"}} {
		list, err := c.Metadata.Resource(corev1.SchemeGroupVersion.WithResource(kind.resource)).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsForbidden(err) {
			w.unread = append(w.unread, unreadIn(namespace, kind.resource))
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			w.others = append(w.others, ownedObject{item.ObjectMeta, kind.kind})
		}
	}
	budgets, err := c.Kube.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err == nil {
		w.budgets = budgets.Items
	}
	w.budgetsUnread = apierrors.IsForbidden(err)
	return w, utilerrors.FilterOut(err, apierrors.IsForbidden)
}

// blocking returns the PodDisruptionBudgets of the pods of a Deployment that allow no disruption. A budget with an empty
// selector is for all pods of its namespace, and a budget without a selector for none.
func (w *namespaceWorkloads) blocking(d appsv1.Deployment) []string {
	return lists.FilterMap(w.budgets, func(b policyv1.PodDisruptionBudget) (string, bool) {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		return b.Name, err == nil && selector.Matches(labels.Set(d.Spec.Template.Labels)) && b.Status.DisruptionsAllowed < 1
	})
}

// ownedBy reports whether an object has an owner reference to a ClusterServiceVersion, or its labels.
func ownedBy(meta metav1.ObjectMeta, csv takeover.CSV) bool {
	if meta.Labels[wellknown.LabelOwner] == names.LabelValue(csv.Name) && meta.Labels[wellknown.LabelOwnerNamespace] == csv.Namespace {
		return true
	}
	return slices.ContainsFunc(meta.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Name == csv.Name && groupkind.OfOwner(o).Group == operatorsv1alpha1.GroupName
	})
}

// editedConfigurations returns the clients that changed webhooks of configurations of ClusterServiceVersions.
func (c TakeoverReader) editedConfigurations(ctx context.Context) (map[takeover.Object][]string, error) {
	all := map[takeover.Object][]string{}
	for kind, resource := range map[string]string{doctor.Validating: "validatingwebhookconfigurations", doctor.Mutating: "mutatingwebhookconfigurations"} {
		list, err := c.Metadata.Resource(configurations(resource)).List(ctx, metav1.ListOptions{LabelSelector: wellknown.LabelOwnerNamespace})
		if err != nil {
			return nil, err
		}
		for _, item := range list.Items {
			all[takeover.Object{Kind: kind, Name: item.Name}] = takeover.EditorsOf(item.ManagedFields, "f:webhooks")
		}
	}
	return all, nil
}
