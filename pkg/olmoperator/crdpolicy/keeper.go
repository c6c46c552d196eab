// Package crdpolicy keeps the policy for CustomResourceDefinitions in the cluster.
package crdpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/sirupsen/logrus"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// interval is the time between two checks of the policy. A watch would need a cache for two objects that rarely change,
// and fails as long as the API server does not serve the kind.
const interval = 30 * time.Second

// ownerRole is the ClusterRole whose deletion deletes the policy: no manager works without it.
const ownerRole = "olm-webhook-manager-with-olm"

// Keeper creates the policy and its binding, and repairs them at most once in an Interval.
type Keeper struct {
	Interval time.Duration

	kube  kubernetes.Interface
	roles informers.Store[*rbacv1.ClusterRole]
	log   *logrus.Entry
	last  string // the last problem that was logged
	// written has what the API server answered to the last writes. An API server of a later version may set other
	// defaults, which are no reason to write again.
	written map[string]string
	// contests limits repairs that another client reverts.
	contests records.FieldContests
	now      func() time.Time
}

// New returns a keeper. The roles are in the caches of the controller.
func New(kube kubernetes.Interface, roles informers.Store[*rbacv1.ClusterRole], log *logrus.Entry) *Keeper {
	return &Keeper{Interval: interval, kube: kube, roles: roles, log: log, written: map[string]string{}, now: time.Now}
}

// Fill fills nothing: the keeper reads two objects.
func (*Keeper) Fill(context.Context) error { return nil }

// Run checks the policy until the context ends.
func (k *Keeper) Run(ctx context.Context) {
	wait.UntilWithContext(ctx, k.check, k.Interval)
}

func (k *Keeper) check(ctx context.Context) {
	err := k.keep(ctx)
	if ctx.Err() != nil {
		return
	}
	problem := problemOf(err)
	if problem == k.last {
		return
	}
	k.last = problem
	log := k.log.WithField("policy", policy.Name)
	if problem == "" {
		log.Info("the policy for CustomResourceDefinitions is in place")
		return
	}
	log.WithField("cause", problem).Warn("the policy for CustomResourceDefinitions is not in place: the manager repairs conversions after another client has changed them")
}

func problemOf(err error) string {
	switch {
	case err == nil:
		return ""
	case apierrors.IsNotFound(err):
		return "the API server does not serve MutatingAdmissionPolicy in admissionregistration.k8s.io/v1, as Kubernetes 1.36 does"
	default:
		return err.Error()
	}
}

// keep applies the policy before the binding: a binding without its policy has no effect.
func (k *Keeper) keep(ctx context.Context) error {
	policies, bindings := k.kube.AdmissionregistrationV1().MutatingAdmissionPolicies(), k.kube.AdmissionregistrationV1().MutatingAdmissionPolicyBindings()
	desired, binding := policy.Policy(), policy.Binding()
	desired.OwnerReferences = k.owners()
	binding.OwnerReferences = desired.OwnerReferences
	if err := ensure(ctx, k, policies, desired); err != nil {
		return err
	}
	return ensure(ctx, k, bindings, binding)
}

// owners is empty if the manager has other permissions than those of manifests/with-olm.
func (k *Keeper) owners() []metav1.OwnerReference {
	role := k.roles.Get("", ownerRole)
	if role == nil {
		return nil
	}
	return []metav1.OwnerReference{{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "ClusterRole", Name: role.Name, UID: role.UID}}
}

type client[O drift.Object] interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
	Patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions, subresources ...string) (O, error)
}

func ensure[O drift.Object](ctx context.Context, k *Keeper, c client[O], desired O) error {
	found, err := c.Get(ctx, desired.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	var live drift.Object
	if err == nil {
		live = found
	}
	needed, err := policy.Needed(desired, live)
	if err != nil || needed == policy.Keep || live != nil && k.written[drift.KeyOf(live)] == versionOf(live) {
		return err
	}
	object, fields := records.FieldObject{Title: drift.KeyOf(desired)}, map[string]string{"spec": "the manager's"}
	if _, until, why := k.contests.Held(object, fields, k.now()); !until.IsZero() {
		return errors.New(why)
	}
	written, err := write(ctx, c, needed, desired, live)
	if err != nil {
		return err
	}
	k.contests.Wrote(object, fields, k.now())
	k.written[drift.KeyOf(written)] = versionOf(written)
	return nil
}

func write[O drift.Object](ctx context.Context, c client[O], needed policy.Write, desired O, live drift.Object) (written O, err error) {
	if needed == policy.Replace {
		patch, err := policy.Replacement(desired, live)
		if err != nil {
			return written, err
		}
		return c.Patch(ctx, desired.GetName(), types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManager})
	}
	body, err := json.Marshal(desired)
	if err != nil {
		return written, err
	}
	return c.Patch(ctx, desired.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: wellknown.FieldManager, Force: new(true)})
}

func versionOf(o drift.Object) string { return string(o.GetUID()) + "/" + o.GetResourceVersion() }
