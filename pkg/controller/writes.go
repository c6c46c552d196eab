package controller

import (
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// writes remembers what a pass wrote until the caches show it. A pass that decided
// on a cache older than its own writes would do them again. To forget is harmless:
// a repeated write changes nothing.
type writes struct {
	mutex   sync.Mutex
	pending map[key][]pendingWrite
}

type pendingWrite struct {
	object rollout.Object // as the API server answered
	gone   bool           // it was deleted
	at     time.Time
}

func (w *writes) add(k key, write pendingWrite) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.pending == nil {
		w.pending = map[key][]pendingWrite{}
	}
	w.pending[k] = append(w.pending[k], write)
}

// shown tells whether the caches show everything that was written for the key, or
// have had time enough to.
func (w *writes) shown(k key, caches caches, now time.Time) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, write := range w.pending[k] {
		if now.Sub(write.at) < cacheGrace && !write.shownBy(caches) {
			return false
		}
	}
	delete(w.pending, k)
	return true
}

func (w pendingWrite) shownBy(caches caches) bool {
	cached := caches.find(w.object)
	switch {
	case w.gone:
		return cached == nil || cached.GetUID() != w.object.GetUID()
	case cached == nil:
		return false
	default:
		order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), w.object.GetResourceVersion())
		return err != nil || order >= 0
	}
}

// find is the cached state of an object; nil when it is not in its cache.
func (c caches) find(o rollout.Object) rollout.Object {
	switch o.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		return found(c.csvs, o)
	case *operatorsv1.OperatorGroup:
		return found(c.groups, o)
	case *managerv1alpha1.WebhookRollout:
		return found(c.rollouts, o)
	case *corev1.Namespace:
		return found(c.namespaces, o)
	case *corev1.Pod:
		return found(c.pods, o)
	case *apiextensionsv1.CustomResourceDefinition:
		return found(c.crds, o)
	default:
		return c.findDerived(o)
	}
}

func (c caches) findDerived(o rollout.Object) rollout.Object {
	switch o.(type) {
	case *appsv1.Deployment:
		return found(c.deployments, o)
	case *corev1.Service:
		return found(c.services, o)
	case *corev1.Secret:
		return found(c.secrets, o)
	case *rbacv1.Role:
		return found(c.roles, o)
	case *rbacv1.RoleBinding:
		return found(c.roleBindings, o)
	case *rbacv1.ClusterRoleBinding:
		return found(c.clusterRoleBindings, o)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return found(c.validating, o)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return found(c.mutating, o)
	case *apiregistrationv1.APIService:
		return found(c.apiServices, o)
	default:
		return nil
	}
}

// found is an untyped nil where the store has nothing.
func found[T interface {
	rollout.Object
	comparable
}](s store[T], o rollout.Object) rollout.Object {
	var none T
	if object := s.get(o.GetNamespace(), o.GetName()); object != none {
		return object
	}
	return nil
}
