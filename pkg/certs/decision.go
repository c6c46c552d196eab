package certs

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// Need is a missing fact. The caller obtains it and calls Decide again in the same reconciliation.
type Need string

const (
	// NeedNothing means that the decision is complete.
	NeedNothing Need = ""
	// NeedLive requests Facts.Secret and Facts.Registrations from the API server.
	NeedLive Need = "Live"
	// NeedEvidence requests the same and Facts.Evidence.
	NeedEvidence Need = "Evidence"
	// NeedPropagation requests the same as NeedLive and Facts.Propagation.
	NeedPropagation Need = "Propagation"
	// NeedRotating requests Facts.Rotating.
	NeedRotating Need = "Rotating"
	// NeedIssued requests Facts.Issued. The manager mints it from Decision.Mint.
	NeedIssued Need = "Issued"
)

// Decision is the result of Decide.
type Decision struct {
	// Need is the missing fact. While it is set, only Mint and Serving count.
	Need Need
	// Mint is set with NeedIssued if the manager issues.
	Mint *Request
	// Write is the Secret to write before anything below is published; nil if it is up to date.
	Write *corev1.Secret
	// Remove is a Secret to delete because it cannot be changed. Write is created in its place.
	Remove *corev1.Secret
	// Reissue requests the deletion of Facts.Issued, so that the issuer issues again.
	Reissue bool

	// Rejected is why pods cannot be given Facts.Issued; nil if they can.
	Rejected *Rejection

	Phase managerv1alpha1.CertificatePhase
	// Serving is the generation that pods are given; nil if API servers cannot verify it.
	Serving *Serving
	// Trust is the caBundle for registrations; nil for none.
	Trust []byte
	// TrustedCAs is the number of CAs in Trust.
	TrustedCAs int
	// Generation is the newest in Trust. A bundle never replaces one with a higher number.
	Generation int64

	// ResyncPods are the pods whose kubelets must re-sync their volumes.
	ResyncPods []string
	// Restart is set if the pods do not reload their certificate and must be replaced.
	Restart bool

	// RotateAtPending is set until Facts.RotateAt is carried out.
	RotateAtPending bool

	// Problem is why the Secret cannot be used; empty if it can be or was never needed.
	Problem string
	// Message is what the phase waits for.
	Message string
	// LostRegistrations are those whose calls fail because their trust cannot be updated.
	LostRegistrations []string
	// Endpoints are the counts of Facts.Evidence during a promotion.
	Endpoints *managerv1alpha1.CertificateEndpoints
	// Propagation is how the last rotation found out that API servers trust Serving; nil if it is not recorded.
	Propagation *managerv1alpha1.CertificatePropagation
	// ChangesAt is when the decision changes without new facts; zero for never.
	ChangesAt time.Time
	// PollAt is earlier than ChangesAt, for what pods serve and for the Secret of another client.
	PollAt time.Time
}

// Serving is a generation that pods can serve and API servers can verify.
type Serving struct {
	// Number counts generations from 1. It is 0 for a certificate of OLM v0.
	Number   int64
	Provider managerv1alpha1.CertificateProvider
	// Leaf is the hex SHA-256 of the leaf in DER form.
	Leaf string
	// CA is the certificate of the CA, PEM.
	CA []byte
	// CAHash is the hex SHA-256 of CA, the value of the annotation olmcahash.
	CAHash string
	// CAFingerprint is the hex SHA-256 of the CA in DER form.
	CAFingerprint string
	// SharesCA is set while pods may serve another certificate of the same CA.
	SharesCA bool
	// Recent is set for searchDuration after the promotion.
	Recent bool
	// NotBefore is from the leaf. NotAfter is the earlier expiry of leaf and CA.
	NotBefore, NotAfter time.Time
	RenewAt             time.Time
	// Updated is when pods were given the generation; zero if it is not recorded, as by OLM v0.
	Updated time.Time
}
