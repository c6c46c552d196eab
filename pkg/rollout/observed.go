// Package rollout decides what may be done next for one ClusterServiceVersion: which objects to
// write now, which webhooks may be registered, and what the rest waits for.
//
// It is pure. Desired state, observed state and time go in, and a Plan comes out.
package rollout

import (
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/rules"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/beginning"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/ending"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Gate is when a webhook may be registered for the first time.
type Gate string

const (
	// GateServing registers a webhook when every ready endpoint and the cluster IP answer with a
	// certificate that the registration will trust.
	GateServing Gate = "serving"
	// GateAvailable registers a webhook when its Deployment is available.
	GateAvailable Gate = "available"
)

// Policy is the configuration of the administrator.
type Policy struct {
	Gate Gate
	// Settle is how long API servers may take to observe a registration. Succeeded waits for it.
	Settle time.Duration
	// No flag sets the other fields. Tests shorten them.

	// FailOpenDivisor divides the durations of the annotations about openings; 0 is 1.
	FailOpenDivisor time.Duration
	// OrderTimeout is how long a Deployment that does not become available delays the next one.
	OrderTimeout time.Duration
	// RunningTimeout is for a running, not ready Deployment, which may need a webhook of a later one.
	RunningTimeout time.Duration
	// StatusDelay is how long an installation takes before the status reports what it waits for.
	StatusDelay time.Duration
	// InstallTimeout is how long a Deployment and its webhooks may take without progress.
	InstallTimeout time.Duration
}

// DefaultPolicy has timeouts above the usual initial delay of a readiness probe. InstallTimeout is OLM v0's.
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
	Failure *scope.Failure // why there is no scope; nil if there is one
	Verdict requirements.Verdict
	Upgrade Upgrade
	// DeletionBlocked is set while the version is deleted and registrations of it stay.
	DeletionBlocked bool
	Desired         render.Desired
	// Maintained are the Deployments of ToMaintain, as they are served.
	Maintained []render.Deployment
	Config     subscriptions.Config
	// Certificates are the states of the serving certificates, by Deployment.
	Certificates map[string]managerv1alpha1.CertificateStatus
	// Secrets are the writes that the Secrets of certificates need, by Deployment (see WriteSecret).
	Secrets map[string]*Step
	// Condition is the write that the OperatorCondition needs; nil for none.
	Condition *Step
	Provider  managerv1alpha1.CertificateProvider
	// Issuance are the writes to its issuer.
	Issuance []Step
	// ResyncPods are the pods whose kubelets must re-sync their volumes.
	ResyncPods []*corev1.Pod
	Observed   Observed
	Previous   managerv1alpha1.WebhookRolloutStatus
	FailOpen   FailOpen
	// HaveObserved is what API servers have observed of registrations that ended; nil if they were not asked in this reconciliation.
	HaveObserved *ending.Found
}

// Observed is the observed state. The objects belong to caches and must not be changed.
type Observed struct {
	Deployments  map[string]*appsv1.Deployment           // by name
	Services     map[string]*corev1.Service              // by name
	Slices       map[string][]*discoveryv1.EndpointSlice // by name of the Service
	Pods         map[string][]*corev1.Pod                // by name of the Deployment
	Roles        map[string]*rbacv1.Role                 // by name
	RoleBindings map[string]*rbacv1.RoleBinding          // by name

	Budgets map[string]*policyv1.PodDisruptionBudget // by name
	// OtherBudgets are all other budgets of the namespace. They are read only if an annotation asks for a budget.
	OtherBudgets []*policyv1.PodDisruptionBudget
	// OtherBudgetsUnknown is set until they are read.
	OtherBudgetsUnknown bool

	// The bindings for servers of APIServices with the owner labels, by name.
	AuthDelegators map[string]*rbacv1.ClusterRoleBinding
	AuthReaders    map[string]*rbacv1.RoleBinding

	// All registrations with the owner labels.
	Validating  []*admissionregistrationv1.ValidatingWebhookConfiguration
	Mutating    []*admissionregistrationv1.MutatingWebhookConfiguration
	APIServices []*apiregistrationv1.APIService
	ServedKinds map[schema.GroupVersionKind]bool
	// Undiscovered are the versions of groups about which the API server has not answered.
	Undiscovered map[schema.GroupVersion]bool
	// Announced is when an API group last announced a change of its versions.
	Announced map[schema.GroupVersion]time.Time

	Lifted []drift.Object

	// ReservedGroups are the API groups of requirements.ReservedGroup.
	ReservedGroups map[string]bool
	// OccupiedGroups are reasons by API group (see requirements.OccupiedGroup).
	OccupiedGroups map[string]string

	// CRDs are the definitions that the ClusterServiceVersion or its Services convert, by name.
	CRDs map[string]*apiextensionsv1.CustomResourceDefinition
	// ObjectCounts are known numbers of objects, or SomeObjects, by CustomResourceDefinition.
	ObjectCounts map[string]int

	Catalog rules.Catalog

	// UnlabelledNamespaces are the namespaces of the scope without its label.
	UnlabelledNamespaces []string
	// LabelRefusals are the reasons why the API server refuses the label.
	LabelRefusals map[string]string
	Answers       map[backends.Endpoint]backends.Answer
	// Refused are final refusals in this reconciliation, by the object's key (see KeyOf).
	Refused map[string]string
	// DeletionRefused are the objects of which the API server refused the deletion alone, by key.
	DeletionRefused map[string]bool
	// Undeletable are the objects of which the API server refused the deletion, perhaps next to another write, by key.
	Undeletable map[string]bool
	// Unanswered are the refused writes for which a webhook did not answer. A retry may succeed.
	Unanswered map[string]bool
	// Forbidden are the Refused writes for which the installer lacks a permission, by the object's key.
	Forbidden map[string]string
	// JustCreated are objects of this reconciliation, which caches do not show yet.
	JustCreated map[string]bool
	// CreationTimes are exact and only known for objects that this process created.
	CreationTimes map[types.UID]time.Time
	// Writes are the manager's latest writes, as far as this process knows them.
	Writes   map[string]drift.Write
	Contests map[string]drift.Contest
	// Calls reports from which API servers calls of webhooks fail.
	Calls calls.Report
	// APIServers is what API servers have observed of new registrations.
	APIServers beginning.Answers
}

// WriteRefusal returns why an object cannot be created or changed; empty if the API server refuses only to delete it.
func (o Observed) WriteRefusal(object drift.Object) string {
	key := drift.KeyOf(object)
	if o.DeletionRefused[key] && !o.isReserved(object) {
		return ""
	}
	return o.Refused[key]
}

// TrustRefusal returns why the caBundle of a registration cannot be written. The manager needs no installer for it.
func (o Observed) TrustRefusal(object drift.Object) string {
	if o.Forbidden[drift.KeyOf(object)] != "" {
		return ""
	}
	return o.WriteRefusal(object)
}

func (o Observed) refuses(step Step) bool {
	switch {
	case step.Verb == Delete && step.Kind() == "PodDisruptionBudget": // One that cannot be written can block drains.
		return o.Undeletable[step.Key()]
	case step.Verb == Delete:
		return o.Refused[step.Key()] != ""
	case len(o.Forbidden) > 0 && step.OnlyTrusts():
		return o.TrustRefusal(step.Object) != ""
	default:
		return o.WriteRefusal(step.Object) != ""
	}
}

// staysRegistered reports whether a registration that has to be deleted stays: the API server refuses, or finalizers keep it.
func (o Observed) staysRegistered(live drift.Object) bool {
	return live.GetDeletionTimestamp() != nil || o.Refused[drift.KeyOf(live)] != ""
}

// Adopt adds an object that the caches do not have. A refusal is why it cannot belong to the version.
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
	case *policyv1.PodDisruptionBudget:
		o.Budgets[object.Name] = object
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
