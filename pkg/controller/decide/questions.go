package decide

import (
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Question is what a decision lacks. The next decision has its answer, in Results.
type Question any

// MintCertificate asks for a new generation.
type MintCertificate struct {
	Secret  string
	Request certs.Request
}

// ReserveRotation reserves a slot unless too many other certificates are being replaced.
type ReserveRotation struct{ Secret types.NamespacedName }

// ReadSecret asks the API server for a Secret.
type ReadSecret struct{ Name string }

// ReadTrust asks the API server for the Secret and the registrations of a Deployment.
type ReadTrust struct {
	Deployment, Secret string
	Selector           string                          // of the owner labels of registrations
	Recorded           []managerv1alpha1.WebhookStatus // may be registered without these labels
	CRDs               []string
}

// ProbeCertificate asks every pod behind the Service, and every endpoint, which certificate it serves.
type ProbeCertificate struct {
	ReadTrust
	ServiceName      string
	Service, Desired *corev1.Service // live and desired; nil for none
	Live             *appsv1.Deployment
	Serving          *certs.Serving
}

// AskAPIServers asks the same as ReadTrust, and then each API server whether it has observed that.
type AskAPIServers struct{ ReadTrust }

// ReadTarget asks the API server for the Secret into which a Certificate of cert-manager issues.
type ReadTarget struct{ Certificate types.NamespacedName }

// WatchObject asks for an object from a cache that is filled on demand.
type WatchObject struct{ ObjectKey }

// FindOwner asks whether the ClusterServiceVersion with an owner ID exists.
type FindOwner struct{ Owner string }

// Answers are void once a step is carried out.
type Answers struct {
	// Rotations is how many other certificates are being replaced, by Secret.
	Rotations map[string]int
	// Trust is what the API server has, by Deployment.
	Trust map[string]Trust
	// Evidence is which certificate the pods serve, by Deployment.
	Evidence map[string]Evidence
	// Propagation is which API servers have observed the registrations, by Deployment.
	Propagation map[string]Propagation
	// Targets are the names of Secrets by Certificate of cert-manager; empty if that does not exist.
	Targets map[types.NamespacedName]string
	// Objects are those of caches that are filled on demand.
	Objects map[ObjectKey]Object
	// Owners reports for owner IDs whether the ClusterServiceVersion exists.
	Owners map[string]bool
}

// NewAnswers returns no answers.
func NewAnswers() Answers {
	return Answers{
		Rotations: map[string]int{}, Trust: map[string]Trust{}, Evidence: map[string]Evidence{}, Propagation: map[string]Propagation{},
		Targets: map[types.NamespacedName]string{}, Objects: map[ObjectKey]Object{}, Owners: map[string]bool{},
	}
}

// Trust is the Secret of a Deployment and the registrations as the API server has them now.
type Trust struct {
	Secret        *corev1.Secret
	Registrations // with the owner labels of the versions
	// Unlabelled are recorded registrations without these labels, which clients with access to the status choose.
	Unlabelled []drift.Object
	CRDs       map[string]*apiextensionsv1.CustomResourceDefinition
}

// Registrations are all registrations except conversions, which are part of definitions.
type Registrations struct {
	Validating  []*admissionregistrationv1.ValidatingWebhookConfiguration
	Mutating    []*admissionregistrationv1.MutatingWebhookConfiguration
	APIServices []*apiregistrationv1.APIService
}

// All returns the registrations in the order of deletion: webhooks first, which could deny the others.
func (r Registrations) All() []drift.Object {
	return slices.Concat(drift.Objects(r.Validating), drift.Objects(r.Mutating), drift.Objects(r.APIServices))
}

// Evidence is which certificate each backend serves, and the Trust that was read immediately before.
type Evidence struct {
	Trust
	Found *certs.Evidence
	Pods  map[string]*corev1.Pod // by name
}

// Propagation is which API servers have observed the webhook configurations of the Trust.
type Propagation struct {
	Trust
	Found certs.Propagation
}

// ObjectKey identifies an object of a cache that is filled on demand, or with an empty name the cache.
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
