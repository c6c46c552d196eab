package hosting

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

// sharedCertificate is the Secret that holds the certificate of all replicas.
type sharedCertificate struct {
	client          kubernetes.Interface
	namespace, name string
	process         string
	hosts           []string
}

// processAnnotation names the command that a Secret belongs to. A Secret without it belongs to
// another client.
const processAnnotation = "webhook-hosting/process"

const caKey = "ca.crt"

// errNotShared reports that the replicas cannot share a certificate.
var errNotShared = errors.New("each replica has a certificate of its own")

// pair returns the certificate to serve. If the Secret is missing, or what it holds is unusable or
// due for renewal, pair stores another one: the one that is served, if that is good.
func (s *sharedCertificate) pair(ctx context.Context, served keyPair, now time.Time) (keyPair, error) {
	live, err := s.client.CoreV1().Secrets(s.namespace).Get(ctx, s.name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return s.create(ctx, served, now)
	case err != nil:
		return keyPair{}, s.failure("read", err)
	case live.Annotations[processAnnotation] != s.process:
		return keyPair{}, fmt.Errorf("%w: Secret %s/%s does not have the annotation %s=%s, so it belongs to another client",
			errNotShared, s.namespace, s.name, processAnnotation, s.process)
	}
	stored := keyPair{cert: live.Data[corev1.TLSCertKey], key: live.Data[corev1.TLSPrivateKeyKey], ca: live.Data[caKey]}
	why := stored.problem(s.hosts, now.Add(renewedSpare))
	if why == nil {
		return stored, nil
	}
	klog.Infof("Replacing the certificate in Secret %s/%s: %v", s.namespace, s.name, why)
	replacement, err := s.replace(ctx, live, served, now)
	if err != nil && stored.problem(s.hosts, now) == nil {
		klog.Errorf("The certificate is not renewed yet: %v", err)
		return stored, nil
	}
	return replacement, err
}

func (s *sharedCertificate) create(ctx context.Context, served keyPair, now time.Time) (keyPair, error) {
	pair, err := s.goodOrNew(served, now)
	if err != nil {
		return keyPair{}, err
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name, Annotations: map[string]string{processAnnotation: s.process}},
		Type:       corev1.SecretTypeTLS,
		Data:       pair.data(),
	}
	// Another replica may create it at the same time: then this one retries and takes what is there.
	if _, err := s.client.CoreV1().Secrets(s.namespace).Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		return keyPair{}, s.failure("create", err)
	}
	return pair, nil
}

// replace changes the Secret if it still is what was read. Where fields must not change, it is
// deleted and created again.
func (s *sharedCertificate) replace(ctx context.Context, live *corev1.Secret, served keyPair, now time.Time) (keyPair, error) {
	secrets := s.client.CoreV1().Secrets(s.namespace)
	if live.Type != corev1.SecretTypeTLS || live.Immutable != nil && *live.Immutable {
		seen := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &live.UID, ResourceVersion: &live.ResourceVersion}}
		if err := secrets.Delete(ctx, s.name, seen); err != nil {
			return keyPair{}, s.failure("delete", err)
		}
		return s.create(ctx, served, now)
	}
	pair, err := s.goodOrNew(served, now)
	if err != nil {
		return keyPair{}, err
	}
	live.Data = pair.data()
	if _, err := secrets.Update(ctx, live, metav1.UpdateOptions{}); err != nil {
		return keyPair{}, s.failure("update", err)
	}
	return pair, nil
}

// goodOrNew returns the pair if it is good, and mints another otherwise.
func (s *sharedCertificate) goodOrNew(served keyPair, now time.Time) (keyPair, error) {
	if served.problem(s.hosts, now.Add(renewedSpare)) == nil {
		return served, nil
	}
	return mintSelfSigned(s.hosts, "", now, renewedLife)
}

func (p keyPair) data() map[string][]byte {
	return map[string][]byte{corev1.TLSCertKey: p.cert, corev1.TLSPrivateKeyKey: p.key, caKey: p.ca}
}

func (s *sharedCertificate) failure(verb string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w: grant the permission to %s Secret %s/%s to have them share one: %w", errNotShared, verb, s.namespace, s.name, err)
	}
	return fmt.Errorf("%s Secret %s/%s: %w", verb, s.namespace, s.name, err)
}
