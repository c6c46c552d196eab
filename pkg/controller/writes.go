package controller

import (
	"reflect"
	"slices"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// writes remembers what a pass wrote until the caches show it. A pass that decided
// on a cache older than its own writes would do them again. To forget is harmless:
// a repeated write changes nothing.
type writes struct {
	grace   time.Duration // to the caches
	mutex   sync.Mutex
	pending map[key][]awaited
}

// pendingWrite is a write that the caches do not show yet.
type pendingWrite struct {
	object  drift.Object // as the API server answered
	changed bool         // it was there before
	gone    bool         // it was deleted
	at      time.Time
}

// awaited is what is remembered of a write: by which the cached object is known that shows
// it. Whole objects of many installations at once would take more memory than the caches.
type awaited struct {
	kind            drift.Object // nil, of the object's type
	namespace, name string
	uid             types.UID
	version         string
	changed, gone   bool
	at              time.Time
}

func (w *writes) add(k key, write pendingWrite) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.pending == nil {
		w.pending = map[key][]awaited{}
	}
	o := write.object
	w.pending[k] = append(w.pending[k], awaited{
		kind:      reflect.Zero(reflect.TypeOf(o)).Interface().(drift.Object),
		namespace: o.GetNamespace(), name: o.GetName(), uid: o.GetUID(), version: o.GetResourceVersion(),
		changed: write.changed, gone: write.gone, at: write.at,
	})
}

// shown tells whether the caches show everything that was written for the key, or
// have had time enough to.
func (w *writes) shown(k key, caches caches, now time.Time) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, write := range w.pending[k] {
		if now.Sub(write.at) < w.grace && !write.shownBy(caches) {
			return false
		}
	}
	delete(w.pending, k)
	return true
}

// echoes tells whether an object is as a pass over the key created it, or wrote its status:
// that pass went on with it, and it is no news.
func (w *writes) echoes(k key, o drift.Object) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return slices.ContainsFunc(w.pending[k], func(write awaited) bool {
		return !write.changed && !write.gone && write.uid == o.GetUID() && write.version == o.GetResourceVersion()
	})
}

func (w awaited) shownBy(caches caches) bool {
	cached := caches.find(w.kind, w.namespace, w.name)
	switch {
	case w.gone:
		return cached == nil || cached.GetUID() != w.uid
	case cached == nil:
		return w.changed // somebody took it away since, or its label
	default:
		order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), w.version)
		return err != nil || order >= 0
	}
}

// find is the cached state of an object of a kind; nil when it is not in its cache.
func (c caches) find(kind drift.Object, namespace, name string) drift.Object {
	switch kind.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		return found(c.csvs, namespace, name)
	case *operatorsv1.OperatorGroup:
		return found(c.groups, namespace, name)
	case *managerv1alpha1.WebhookRollout:
		return found(c.rollouts, namespace, name)
	case *corev1.Namespace:
		return found(c.namespaces, namespace, name)
	case *corev1.Pod:
		return found(c.pods, namespace, name)
	case *apiextensionsv1.CustomResourceDefinition:
		return found(c.crds, namespace, name)
	default:
		return c.findDerived(kind, namespace, name)
	}
}

func (c caches) findDerived(kind drift.Object, namespace, name string) drift.Object {
	switch kind.(type) {
	case *appsv1.Deployment:
		return found(c.deployments, namespace, name)
	case *corev1.Service:
		return found(c.services, namespace, name)
	case *corev1.Secret:
		return found(c.secrets, namespace, name)
	case *rbacv1.Role:
		return found(c.roles, namespace, name)
	case *rbacv1.RoleBinding:
		return found(c.roleBindings, namespace, name)
	case *rbacv1.ClusterRoleBinding:
		return found(c.clusterRoleBindings, namespace, name)
	case *rbacv1.ClusterRole:
		return found(c.clusterRoles, namespace, name)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return found(c.validating, namespace, name)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return found(c.mutating, namespace, name)
	case *apiregistrationv1.APIService:
		return found(c.apiServices, namespace, name)
	default:
		return nil
	}
}

// found is an untyped nil where the store has nothing.
func found[T interface {
	drift.Object
	comparable
}](s store[T], namespace, name string) drift.Object {
	var none T
	if object := s.get(namespace, name); object != none {
		return object
	}
	return nil
}
