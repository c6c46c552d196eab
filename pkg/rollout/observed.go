// Package rollout decides what may be done next for one ClusterServiceVersion:
// which objects to write now, which webhooks may be registered, and what the rest
// waits for.
//
// It is pure: desired and observed state and the instant in, a Plan out. The answer
// depends on what is, never on what was done before.
package rollout

import (
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Gate says when a webhook may be registered for the first time.
type Gate string

const (
	// GateServing registers a webhook once every ready endpoint, and the Service's own
	// address, answer with a certificate that the registration will trust.
	GateServing Gate = "serving"
	// GateAvailable registers a webhook once its Deployment is available.
	GateAvailable Gate = "available"
)

// Policy are the administrator's choices.
type Policy struct {
	Gate Gate
	// Settle is how long API servers may take to learn of a new registration: a
	// ClusterServiceVersion is not Succeeded before it is over.
	Settle time.Duration
	// OrderTimeout is how long a Deployment that does not get available may hold up the next.
	OrderTimeout time.Duration
	// RunningTimeout is the same for one whose containers run and do not get ready: it may
	// be waiting for a webhook of a later Deployment.
	RunningTimeout time.Duration
	// StatusDelay is how long an installation goes on before it is told what it waits for.
	StatusDelay time.Duration
	// InstallTimeout is how long a Deployment and its webhooks may take without any progress.
	InstallTimeout time.Duration
}

// DefaultPolicy is what the flags default to. The bounds leave an operator the
// common initial delays of a readiness probe; the timeout is OLM v0's.
func DefaultPolicy() Policy {
	return Policy{
		Gate:           GateServing,
		Settle:         300 * time.Millisecond,
		OrderTimeout:   time.Minute,
		RunningTimeout: 20 * time.Second,
		StatusDelay:    time.Second,
		InstallTimeout: 5 * time.Minute,
	}
}

// Input is everything that a plan depends on.
type Input struct {
	CSV     *operatorsv1alpha1.ClusterServiceVersion
	Policy  Policy
	Failure *scope.Failure // why there is no scope to install into; nil when there is
	Verdict requirements.Verdict
	Upgrade Upgrade
	// DeletionBlocked is set on the way out, while objects need a conversion.
	DeletionBlocked bool
	Desired         render.Desired
	// Maintained is what is registered and is to be called in another way (see ToMaintain), as
	// it is served, by Deployment.
	Maintained []render.Deployment
	// Config is what the administrator configures.
	Config subscriptions.Config
	// Certificates are the facts about the serving certificates, by Deployment.
	Certificates map[string]managerv1alpha1.CertificateStatus
	// Secrets are those to write, by Deployment. What is registered, and what is mounted,
	// relies on them.
	Secrets map[string]*corev1.Secret
	// Condition is the write that the OperatorCondition needs; nil for none.
	Condition *Step
	// Provider issues the serving certificates.
	Provider managerv1alpha1.CertificateProvider
	// Issuance is what it is to be told.
	Issuance []Step
	// ResyncPods are the pods whose kubelets are to be made to look at their volumes.
	ResyncPods []*corev1.Pod
	Observed   Observed
	Previous   managerv1alpha1.WebhookRolloutStatus
}

// Observed is what the cluster shows of what was desired. Objects are the cache's:
// read them, never write to them.
type Observed struct {
	Deployments  map[string]*appsv1.Deployment           // by name
	Services     map[string]*corev1.Service              // by name
	Slices       map[string][]*discoveryv1.EndpointSlice // by name of the Service
	Pods         map[string][]*corev1.Pod                // by name of the Deployment
	Roles        map[string]*rbacv1.Role                 // by name
	RoleBindings map[string]*rbacv1.RoleBinding          // by name

	// AuthDelegators and AuthReaders are the bindings for servers of APIServices that bear the
	// ClusterServiceVersion's owner labels, wanted or not, by name.
	AuthDelegators map[string]*rbacv1.ClusterRoleBinding
	AuthReaders    map[string]*rbacv1.RoleBinding

	// Validating, Mutating and APIServices are all registrations that bear the
	// ClusterServiceVersion's owner labels, wanted or not.
	Validating  []*admissionregistrationv1.ValidatingWebhookConfiguration
	Mutating    []*admissionregistrationv1.MutatingWebhookConfiguration
	APIServices []*apiregistrationv1.APIService
	// ServedKinds tells of the kinds that available APIServices are to serve whether they do.
	ServedKinds map[schema.GroupVersionKind]bool
	// Undiscovered are the versions of groups of which the API server has not answered which kinds it
	// serves.
	Undiscovered map[schema.GroupVersion]bool
	// Announced is when a change last announced what their versions of a group serve.
	Announced map[schema.GroupVersion]time.Time

	// Lifted are the roles and bindings that were lifted for the ClusterServiceVersion.
	Lifted []drift.Object

	// ReservedGroups are the groups that no operator may serve (see requirements.ReservedGroup), among those of
	// the APIServices that the ClusterServiceVersion has or wants.
	ReservedGroups map[string]bool
	// OccupiedGroups are the groups of which the ClusterServiceVersion must not register a further version
	// (see requirements.OccupiedGroup), and why.
	OccupiedGroups map[string]string

	// CRDs are the CustomResourceDefinitions that the ClusterServiceVersion converts, or
	// that its Services do, by name.
	CRDs map[string]*apiextensionsv1.CustomResourceDefinition
	// ObjectCounts is how many objects CustomResourceDefinitions have, or SomeObjects, by their names: those of
	// which it is known in this pass.
	ObjectCounts map[string]int

	// Catalog lists what the API server serves of the groups that the webhooks' rules name.
	Catalog rules.Catalog

	// UnlabelledNamespaces are the namespaces of the scope that do not bear its label yet.
	UnlabelledNamespaces []string
	// LabelRefusals says why the API server refuses the label to some of them.
	LabelRefusals map[string]string
	// Answers are what endpoints said in this pass.
	Answers map[backends.Endpoint]backends.Answer
	// Refused is what the API server said to a write in this pass that it will say again
	// until somebody changes something, by the object's key (see KeyOf).
	Refused map[string]string
	// Unanswered are those of the refused writes, by the same key, on which the API server could not ask
	// a webhook: it may say another thing the next moment.
	Unanswered map[string]bool
	// JustCreated are the objects that were created in this pass, by their key: as they were desired,
	// so that the next pass compares them first, when the caches show them.
	JustCreated map[string]bool
	// CreationTimes is when registrations were created, where that is known to the instant.
	CreationTimes map[types.UID]time.Time
	// Writes are the manager's latest writes, as far as this process knows them, by the object's key.
	Writes map[string]drift.Write
	// Contests are the records of repairs that another client undid, by the object's key.
	Contests map[string]drift.Contest
}

// Adopt adds an object that the caches did not show. A refusal says why it cannot be
// the ClusterServiceVersion's.
func (o *Observed) Adopt(object drift.Object, refusal string) {
	if refusal != "" {
		o.Refused[drift.KeyOf(object)] = refusal
		return
	}
	switch object := object.(type) {
	case *appsv1.Deployment:
		o.Deployments[object.Name] = object
	case *corev1.Service:
		o.Services[object.Name] = object
	case *rbacv1.Role:
		o.Roles[object.Name] = object
	case *rbacv1.RoleBinding:
		if permissions.Delegates(object) {
			o.AuthReaders[object.Name] = object
		} else {
			o.RoleBindings[object.Name] = object
		}
	case *rbacv1.ClusterRoleBinding:
		o.AuthDelegators[object.Name] = object
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		o.Validating = append(o.Validating, object)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		o.Mutating = append(o.Mutating, object)
	case *apiregistrationv1.APIService:
		o.APIServices = append(o.APIServices, object)
	}
}
