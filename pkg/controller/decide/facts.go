// Package decide decides what to do for a ClusterServiceVersion: a function from facts to a plan.
package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Settings are the administrator's choices, and the name of the manager.
type Settings struct {
	Rollout      rollout.Policy
	Certificates certs.Policy
	// Manager is the user name of the manager; empty when the API server does not report it.
	Manager string
	// LiftRoles grants the permissions of an operator in the namespaces of its OperatorGroup.
	LiftRoles bool
}

// Facts are everything that a decision depends on. Decide does not change them.
type Facts struct {
	Settings Settings

	CSV     *operatorsv1alpha1.ClusterServiceVersion
	Scope   scope.Scope
	Failure *scope.Failure       // why the ClusterServiceVersion cannot be installed into its scope; nil if it can
	Config  subscriptions.Config // of the Subscription
	Upgrade rollout.Upgrade
	// Requirements are what the Verdict depends on, except for the finalizer and lifted permissions.
	Requirements requirements.Facts
	// Verdict is set by the decision.
	Verdict requirements.Verdict
	// Status is the recorded status of the WebhookRollout.
	Status   managerv1alpha1.WebhookRolloutStatus
	Observed rollout.Observed
	// Deleting is set when the ClusterServiceVersion is being deleted while objects need a conversion.
	Deleting bool
	// RotateAtPending is set while status.certsRotateAt requests a rotation that has not begun.
	RotateAtPending bool

	// Ownership proves that an object belongs to the versions of the operator.
	Ownership owners.Ownership
	// Exists reports whether the ClusterServiceVersion with an owner ID exists.
	Exists func(owner string) bool

	// Definitions are those of the custom resources that the rules of webhooks name.
	Definitions []*apiextensionsv1.CustomResourceDefinition
	Condition   Condition
	// CertManager is set when the API server serves the kinds of cert-manager.
	CertManager bool
	// BundlesWatched is set when the ConfigMaps for service-ca are cached.
	BundlesWatched bool

	// Grants are what the installer granted to the ServiceAccounts, if roles are lifted.
	Grants permissions.Grants
	// NotLifted are the reasons why lifted roles and bindings are not written, by key.
	NotLifted map[string]string
	// Owned are the objects of the ClusterServiceVersion that definitions may own.
	Owned map[owners.Kind][]metav1.Object
	// FieldContests are the contests over fields of the ClusterServiceVersion and over owner references,
	// by key.
	FieldContests map[string]drift.FieldContest
	// Patched are the keys of the steps of early stages that were carried out in this reconciliation.
	Patched map[string]bool

	// Secrets are the serving Secrets that were read from the caches or the API server, by name. An
	// absent Secret is nil. A Secret without a key was not read.
	Secrets map[string]*corev1.Secret
	// Issued are the cached Secrets into which other issuers issue, by name.
	Issued map[string]*corev1.Secret
	// Taken are the Deployments whose usual Service name belongs to another client.
	Taken map[string]bool
	// Uncached are the objects that have a name which an issuer's object needs, and that the caches do
	// not have.
	Uncached map[ObjectKey]*unstructured.Unstructured
	// Foreign are the names of bindings that belong to another client.
	Foreign map[string]bool
	// Minted are the generations that were minted during this reconciliation, by Secret.
	Minted map[string]certs.Generation
	// Services are the names of the Services that the last decision uses, by Deployment.
	Services map[string]string

	Answers Answers
}

// Condition is the OperatorCondition of a ClusterServiceVersion.
type Condition struct {
	Supported bool // the API server serves the kind
	Cached    bool // the cache is filled
	Live      *unstructured.Unstructured
}

// Answers are the answers to the questions of the current round. They are void once a step is carried
// out.
type Answers struct {
	// Rotations is how many other certificates are being replaced, by Secret.
	Rotations map[string]int
	// Trust is what the API server has, by Deployment.
	Trust map[string]Trust
	// Evidence is which certificate the pods serve, by Deployment.
	Evidence map[string]Evidence
	// Targets are the names of the Secrets into which Certificates of cert-manager issue; empty for a
	// Certificate that does not exist.
	Targets map[types.NamespacedName]string
	// Objects are those of caches that are filled on demand.
	Objects map[ObjectKey]Object
}

// Trust is the Secret of a Deployment and its registrations as the API server has them now.
type Trust struct {
	Secret   *corev1.Secret
	Observed rollout.Observed
}

// Evidence is which certificate each backend of a Deployment serves, and the Trust that was read
// immediately before.
type Evidence struct {
	Trust
	Found *certs.Evidence
	Pods  map[string]*corev1.Pod // by name
}

// ObjectKey identifies an object in a cache that is filled on demand. An empty name identifies the
// cache itself.
type ObjectKey struct {
	Resource        schema.GroupVersionResource
	Namespace, Name string
}

// Object is an object of such a cache, or nil.
type Object struct {
	Live   *unstructured.Unstructured
	Cached bool      // the cache is filled
	Since  time.Time // when the cache was first requested
}
