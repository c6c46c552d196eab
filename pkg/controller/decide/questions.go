package decide

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// Question is what a decision lacks: a read, a dial or a key. Its answer is a fact of the next round.
type Question interface {
	// Key identifies the question.
	Key() string
}

// MintCertificate asks for a new generation.
type MintCertificate struct {
	Secret  string
	Request certs.Request
}

// CountRotations asks how many other certificates are being replaced.
type CountRotations struct{ Secret types.NamespacedName }

// ReadSecret asks the API server for a Secret.
type ReadSecret struct{ Name string }

// ReadTrust asks the API server for the Secret and the registrations of a Deployment.
type ReadTrust struct {
	Deployment, Secret string
	Observed           rollout.Observed // the answer replaces the registrations
}

// ProbeCertificate asks every pod behind the Service of a Deployment, and every endpoint, which
// certificate it serves.
type ProbeCertificate struct {
	ReadTrust
	ServiceName      string
	Service, Desired *corev1.Service // live and desired; nil for none
	Live             *appsv1.Deployment
	Serving          *certs.Serving
}

// ReadTarget asks the API server for the Secret into which a Certificate of cert-manager issues.
type ReadTarget struct{ Certificate types.NamespacedName }

// WatchObject asks for an object from a cache that is filled on demand.
type WatchObject struct{ ObjectKey }

// Key implements Question.
func (q MintCertificate) Key() string { return "mint " + q.Secret }

// Key implements Question.
func (q CountRotations) Key() string { return "other rotations than " + q.Secret.String() }

// Key implements Question.
func (q ReadSecret) Key() string { return "secret " + q.Name }

// Key implements Question.
func (q ReadTrust) Key() string { return "trust " + q.Deployment }

// Key implements Question.
func (q ProbeCertificate) Key() string { return "certificate served by " + q.Deployment }

// Key implements Question.
func (q ReadTarget) Key() string { return "target of " + q.Certificate.String() }

// Key implements Question.
func (q WatchObject) Key() string { return q.Resource.String() + " " + q.Namespace + "/" + q.Name }
