package informers

import (
	"errors"
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
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// ErrStale reports that a reconciliation waits until the caches show a previous write, or a deletion
// that the API server has already executed. The change that they then show triggers the next one.
var ErrStale = errors.New("the caches do not show the last writes yet")

// Expectations records what the controller wrote until the caches show it. A reconciliation
// with caches older than its own writes would repeat them. A lost record is harmless: a
// repeated write changes nothing.
type Expectations struct {
	// Grace is how long the caches may lag behind a write.
	Grace   time.Duration
	mutex   sync.Mutex
	pending map[queue.Key][]expectation
}

// Write is a write that the caches do not show yet.
type Write struct {
	Object  drift.Object // as the API server answered
	Changed bool         // the object existed before
	Deleted bool
	At      time.Time
}

// expectation identifies the cached object that shows a write. Whole objects of many
// installations at once would take more memory than the caches.
type expectation struct {
	kind             drift.Object // nil, of the object's type
	namespace, name  string
	uid              types.UID
	version          string
	changed, deleted bool
	at               time.Time
}

// Add records a write of a reconciliation.
func (e *Expectations) Add(k queue.Key, write Write) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.pending == nil {
		e.pending = map[queue.Key][]expectation{}
	}
	o := write.Object
	e.pending[k] = append(e.pending[k], expectation{
		kind:      reflect.Zero(reflect.TypeOf(o)).Interface().(drift.Object),
		namespace: o.GetNamespace(), name: o.GetName(), uid: o.GetUID(), version: o.GetResourceVersion(),
		changed: write.Changed, deleted: write.Deleted, at: write.At,
	})
}

// Fulfilled reports whether the caches show everything that was written for the key, or the
// grace is over.
func (e *Expectations) Fulfilled(k queue.Key, caches *Caches, now time.Time) bool {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	for _, expected := range e.pending[k] {
		if now.Sub(expected.at) < e.Grace && !expected.shownBy(caches) {
			return false
		}
	}
	delete(e.pending, k)
	return true
}

// IsEcho reports whether an object is as a reconciliation of the key created it, or wrote its
// status. That reconciliation has already used it.
func (e *Expectations) IsEcho(k queue.Key, o drift.Object) bool {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return slices.ContainsFunc(e.pending[k], func(expected expectation) bool {
		return !expected.changed && !expected.deleted && expected.uid == o.GetUID() && expected.version == o.GetResourceVersion()
	})
}

func (e expectation) shownBy(caches *Caches) bool {
	cached := caches.find(e.kind, e.namespace, e.name)
	switch {
	case e.deleted:
		return cached == nil || cached.GetUID() != e.uid
	case cached == nil:
		return e.changed // Another client has deleted it since, or removed its label.
	default:
		order, err := resourceversion.CompareResourceVersion(cached.GetResourceVersion(), e.version)
		return err != nil || order >= 0
	}
}

// find returns the cached object of a kind, or nil.
func (c *Caches) find(kind drift.Object, namespace, name string) drift.Object {
	switch kind.(type) {
	case *operatorsv1alpha1.ClusterServiceVersion:
		return found(c.CSVs, namespace, name)
	case *operatorsv1.OperatorGroup:
		return found(c.Groups, namespace, name)
	case *managerv1alpha1.WebhookRollout:
		return found(c.Rollouts, namespace, name)
	case *corev1.Namespace:
		return found(c.Namespaces, namespace, name)
	case *corev1.Pod:
		return found(c.Pods, namespace, name)
	case *apiextensionsv1.CustomResourceDefinition:
		return found(c.CRDs, namespace, name)
	default:
		return c.findDerived(kind, namespace, name)
	}
}

func (c *Caches) findDerived(kind drift.Object, namespace, name string) drift.Object {
	switch kind.(type) {
	case *appsv1.Deployment:
		return found(c.Deployments, namespace, name)
	case *corev1.Service:
		return found(c.Services, namespace, name)
	case *corev1.Secret:
		return found(c.Secrets, namespace, name)
	case *rbacv1.Role:
		return found(c.Roles, namespace, name)
	case *rbacv1.RoleBinding:
		return found(c.RoleBindings, namespace, name)
	case *rbacv1.ClusterRoleBinding:
		return found(c.ClusterRoleBindings, namespace, name)
	case *rbacv1.ClusterRole:
		return found(c.ClusterRoles, namespace, name)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return found(c.Validating, namespace, name)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return found(c.Mutating, namespace, name)
	case *apiregistrationv1.APIService:
		return found(c.APIServices, namespace, name)
	default:
		return nil
	}
}

// found is an untyped nil where the store has nothing.
func found[T interface {
	drift.Object
	comparable
}](s Store[T], namespace, name string) drift.Object {
	var none T
	if object := s.Get(namespace, name); object != none {
		return object
	}
	return nil
}
