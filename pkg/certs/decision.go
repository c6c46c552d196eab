package certs

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Need is something that a decision lacks. It has to be found out, and Decide be asked
// again in the same pass.
type Need string

const (
	// NeedNothing is a decision that can be carried out.
	NeedNothing Need = ""
	// NeedLive asks for Facts.Secret and Facts.Registrations as the API server has them now:
	// caches are not good enough to give pods another certificate.
	NeedLive Need = "Live"
	// NeedEvidence asks for the same, and for Facts.Evidence.
	NeedEvidence Need = "Evidence"
	// NeedRotating asks for Facts.Rotating.
	NeedRotating Need = "Rotating"
	// NeedIssued asks for Facts.Issued, as Decision.Mint says.
	NeedIssued Need = "Issued"
)

// Decision is what Facts amount to at an instant.
type Decision struct {
	// Need is what the decision lacks. Everything else holds as long as it is not found out.
	Need Need
	// Mint is what to mint, with NeedIssued.
	Mint *Request
	// Write is the Secret as it is to be written next, before anything below is published;
	// nil when it is as it should be. It is to be created when it has no resourceVersion.
	Write *corev1.Secret
	// Remove is a Secret that is to be deleted, because it cannot be changed: Write is created
	// in its place, now or by the next decision.
	Remove *corev1.Secret
	// Reissue is set when Facts.Issued is to be deleted where the issuer keeps it, so that it
	// issues anew.
	Reissue bool

	// Rejected is what is wrong with Facts.Issued, so that pods cannot be given it; nil when
	// nothing is.
	Rejected *Rejection

	// Phase is where the certificate stands in its life.
	Phase managerv1alpha1.CertificatePhase
	// Serving is the generation that pods are given; nil when there is none that API servers
	// can verify.
	Serving *Serving
	// Trust is the caBundle for registrations; nil when there is nothing to trust.
	Trust []byte
	// Trusted is how many CAs are in Trust.
	Trusted int
	// Generation is the number of the newest generation in Trust. A bundle of a lower one
	// is never written over one of a higher.
	Generation int64

	// ResyncPods are the pods whose kubelets are to be made to look at the Secret.
	ResyncPods []string
	// Restart is set when pods do not take up the generation that they are given, and have
	// to be replaced.
	Restart bool

	// RotateAtPending is set while Facts.RotateAt is not followed.
	RotateAtPending bool

	// Problem is why the Secret cannot be used and what comes of it, in a sentence for a
	// cluster administrator. Empty when it can, or when it was never needed.
	Problem string
	// Message says what the phase waits for.
	Message string
	// LostRegistrations are the registrations whose calls fail, because they cannot be made to trust what
	// pods are given.
	LostRegistrations []string
	// Endpoints counts who serves what, while that matters.
	Endpoints *managerv1alpha1.CertificateEndpoints
	// ChangesAt is the earliest instant at which the answer changes by itself; zero for never.
	ChangesAt time.Time
	// PollAt is when to look again before that, because what pods do cannot be watched.
	PollAt time.Time
}

// Serving is a generation that pods can serve and API servers can verify.
type Serving struct {
	// Number counts generations from 1. It is 0 for a certificate of OLM's.
	Number int64
	// Issuer is who issued it.
	Issuer managerv1alpha1.CertificateProvider
	// Leaf is the hex SHA-256 of the DER form of the certificate that is served.
	Leaf string
	// CA is the certificate of the CA, PEM.
	CA []byte
	// CAHash is the hex SHA-256 of CA, the value of the annotation olmcahash.
	CAHash string
	// CAFingerprint is the hex SHA-256 of the CA's DER form.
	CAFingerprint string
	// SharesCA is set while pods may serve another certificate of the same CA.
	SharesCA bool
	// Recent is set while whoever has not taken it up yet is searched for.
	Recent bool
	// NotBefore and NotAfter are when the leaf begins, and when it or its CA ends, whichever
	// is first.
	NotBefore, NotAfter time.Time
	// RenewAt is when it is due.
	RenewAt time.Time
	// Updated is when pods were given it; zero where that is not noted, as by OLM.
	Updated time.Time
}
