// Package decide decides what to do for a ClusterServiceVersion: a function from facts to a plan.
package decide

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/adoption"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
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
	// WithOLM is set if the manager does everything that olm-operator does.
	WithOLM bool
}

// Facts are what was gathered for one reconciliation, and do not change: what that one learns is in Results.
type Facts struct {
	Settings Settings

	CSV     *operatorsv1alpha1.ClusterServiceVersion
	Scope   scope.Scope
	Failure *scope.Failure       // why the ClusterServiceVersion cannot be installed into its scope; nil if it can
	Config  subscriptions.Config // of the Subscription
	Upgrade rollout.Upgrade
	// Requirements exclude the finalizer, lifted permissions and the time.
	Requirements requirements.Facts
	// Rollout is the WebhookRollout; nil if there is none.
	Rollout  *managerv1alpha1.WebhookRollout
	Status   managerv1alpha1.WebhookRolloutStatus
	Observed rollout.Observed
	// Recorded are the statuses that the API server has: that of the version, then those of the replaced versions.
	Recorded []managerv1alpha1.WebhookRolloutStatus
	// Memories are what this process knows of webhooks that may open.
	Memories map[csvspec.Identity]failopen.Memory
	// Deleting is set when the ClusterServiceVersion is being deleted while registrations of it stay.
	Deleting bool

	Ownership owners.Ownership

	// Installer is the account with whose permissions objects of the operator are written.
	Installer scope.Installer

	// Definitions are those of the custom resources that the rules of webhooks name.
	Definitions []*apiextensionsv1.CustomResourceDefinition
	Condition   Condition
	// Requestable has the providers whose kinds can have objects: their CustomResourceDefinition exists,
	// or, without one, an operator has caused a cache of the kinds.
	Requestable map[managerv1alpha1.CertificateProvider]bool

	// Grants are what the installer granted to the ServiceAccounts, if roles are lifted.
	Grants permissions.Grants
	// Owned are the objects of the ClusterServiceVersion that definitions may own.
	Owned map[owners.Kind][]metav1.Object
	// FieldContests are by key: those over fields of the ClusterServiceVersion and over owner references.
	FieldContests map[string]drift.FieldContest

	// Secrets are the cached Secrets that pods serve from, by name.
	Secrets map[string]*corev1.Secret
	// Issued are the cached Secrets into which other issuers issue, by name.
	Issued map[string]*corev1.Secret
}

// Versions returns the ClusterServiceVersion and its replaced versions.
func (f Facts) Versions() []*operatorsv1alpha1.ClusterServiceVersion {
	return append([]*operatorsv1alpha1.ClusterServiceVersion{f.CSV}, f.Upgrade.From...)
}

// Adopter decides about existing objects whose names are needed. exists takes an owner ID.
func (f Facts) Adopter(exists func(owner string) bool) adoption.Adopter {
	return adoption.Adopter{
		Versions: f.Versions(),
		Exists:   exists,
		Calls:    func(service string) bool { return f.Observed.Services[service] != nil },
		Proves:   func(o drift.Object) bool { return f.Ownership.Proves(o) },
	}
}

// Condition is the OperatorCondition of a ClusterServiceVersion.
type Condition struct {
	Supported bool // the API server serves the kind
	Cached    bool // the cache is filled
	Live      *unstructured.Unstructured
}
