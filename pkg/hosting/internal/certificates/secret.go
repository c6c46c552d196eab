package certificates

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

// Secret is the Secret that contains the certificate of all replicas.
type Secret struct {
	Client          kubernetes.Interface
	Namespace, Name string
	Process         string
	Hosts           []string
}

// processAnnotation names the command that a Secret belongs to. Without it, another client owns the Secret.
const processAnnotation = "webhook-hosting/process"

const caKey = "ca.crt"

// ErrNotShared reports that the replicas cannot share a certificate.
var ErrNotShared = errors.New("each replica has a certificate of its own")

// Pair returns the certificate to serve. If the Secret is missing, or its certificate is unusable or
// due for renewal, Pair stores another one: the certificate that is served, if it is good.
func (s *Secret) Pair(ctx context.Context, served Pair, now time.Time) (Pair, error) {
	live, err := s.Client.CoreV1().Secrets(s.Namespace).Get(ctx, s.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return s.store(ctx, nil, served, now)
	case err != nil:
		return Pair{}, s.failure("read", err)
	case live.Annotations[processAnnotation] != s.Process:
		return Pair{}, fmt.Errorf("%w: Secret %s/%s does not have the annotation %s=%s, so it belongs to another client",
			ErrNotShared, s.Namespace, s.Name, processAnnotation, s.Process)
	}
	stored := Pair{Cert: live.Data[corev1.TLSCertKey], Key: live.Data[corev1.TLSPrivateKeyKey], CA: live.Data[caKey]}
	why := stored.Check(s.Hosts, now.Add(RenewedRemaining))
	if why == nil {
		return stored, nil
	}
	klog.InfoS("Replacing the certificate in the Secret", "secret", klog.KRef(s.Namespace, s.Name), "reason", why)
	replacement, err := s.store(ctx, live, served, now)
	if err != nil && stored.Check(s.Hosts, now) == nil {
		klog.ErrorS(err, "Cannot renew the certificate yet", "secret", klog.KRef(s.Namespace, s.Name))
		return stored, nil
	}
	return replacement, err
}

// store updates the live Secret if it is unchanged, and creates it if live is nil. It recreates a Secret with immutable fields.
func (s *Secret) store(ctx context.Context, live *corev1.Secret, served Pair, now time.Time) (Pair, error) {
	secrets := s.Client.CoreV1().Secrets(s.Namespace)
	if live != nil && (live.Type != corev1.SecretTypeTLS || live.Immutable != nil && *live.Immutable) {
		unchanged := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}}
		if err := secrets.Delete(ctx, s.Name, unchanged); err != nil {
			return Pair{}, s.failure("delete", err)
		}
		live = nil
	}
	pair, err := s.goodOrNew(served, now)
	if err != nil {
		return Pair{}, err
	}
	data := map[string][]byte{corev1.TLSCertKey: pair.Cert, corev1.TLSPrivateKeyKey: pair.Key, caKey: pair.CA}
	if live != nil {
		live.Data = data
		if _, err := secrets.Update(ctx, live, metav1.UpdateOptions{}); err != nil {
			return Pair{}, s.failure("update", err)
		}
		return pair, nil
	}
	meta := metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name, Annotations: map[string]string{processAnnotation: s.Process}}
	// If another replica creates it at the same time, this one retries and reads that Secret.
	if _, err := secrets.Create(ctx, &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeTLS, Data: data}, metav1.CreateOptions{}); err != nil {
		return Pair{}, s.failure("create", err)
	}
	return pair, nil
}

func (s *Secret) goodOrNew(served Pair, now time.Time) (Pair, error) {
	if served.Check(s.Hosts, now.Add(RenewedRemaining)) == nil {
		return served, nil
	}
	return SelfSigned(s.Hosts, "", now, RenewedValidity)
}

func (s *Secret) failure(verb string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: to share one, grant the permission to %s Secret %s/%s: %w", ErrNotShared, verb, s.Namespace, s.Name, err)
	}
	return fmt.Errorf("%s Secret %s/%s: %w", verb, s.Namespace, s.Name, err)
}
