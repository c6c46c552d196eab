package integration

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
)

// authority is a CA that a test has, with its key.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func (e *env) authority(name string) authority {
	e.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	e.must(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	e.must(err)
	certificate, err := x509.ParseCertificate(der)
	e.must(err)
	return authority{certificate, key}
}

// sign is a leaf for some names, PEM.
func (a authority) sign(e *env, key crypto.PublicKey, names []string) []byte {
	e.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	e.must(err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: serial, DNSNames: names, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().AddDate(0, 3, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.certificate, key, a.key)
	e.must(err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func (a authority) pem() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.certificate.Raw})
}

func keyPEM(e *env, key *ecdsa.PrivateKey) []byte {
	e.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	e.must(err)
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// signingCA stores a new CA for an issuer of cert-manager, in place of one before it.
func (e *env) signingCA(secret string, n int) {
	e.Helper()
	ca := e.authority(fmt.Sprintf("internal %d", n))
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secret}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: ca.pem(), corev1.TLSPrivateKeyKey: keyPEM(e, ca.key), "ca.crt": ca.pem()},
	}
	e.store(s)
}

// store creates a Secret, or updates the one that has its name.
func (e *env) store(s *corev1.Secret) {
	e.Helper()
	secrets := e.kube.CoreV1().Secrets(e.namespace)
	_, err := secrets.Create(e.ctx, s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		there, err := secrets.Get(e.ctx, s.Name, metav1.GetOptions{})
		e.must(err)
		there.Data = s.Data
		_, err = secrets.Update(e.ctx, there, metav1.UpdateOptions{})
		e.must(err)
		return
	}
	e.must(err)
}

// signRequests plays an issuer that is not cert-manager's own, and publishes no CA, or
// the one that it is given: it signs the requests of the Namespace's one Certificate.
func (e *env) signRequests(published []byte) {
	e.Helper()
	requests := issuers.Certificates.GroupVersion().WithResource("certificaterequests")
	signer := e.authority("corporate")
	e.eventually("a request is signed", func() (bool, any) {
		list, err := e.any.Resource(requests).Namespace(e.namespace).List(e.ctx, metav1.ListOptions{})
		e.must(err)
		if len(list.Items) == 0 {
			return false, "no request"
		}
		request := list.Items[0]
		encoded, _, _ := nested(request.Object, "spec", "request")
		text, err := base64.StdEncoding.DecodeString(encoded)
		e.must(err)
		block, _ := pem.Decode(text)
		asked, err := x509.ParseCertificateRequest(block.Bytes)
		e.must(err)
		status := map[string]any{
			"certificate": base64.StdEncoding.EncodeToString(signer.sign(e, asked.PublicKey, asked.DNSNames)),
			"conditions": []any{
				map[string]any{"type": "Approved", "status": "True", "reason": "cert-manager.io", "message": "approved"},
				map[string]any{"type": "Ready", "status": "True", "reason": "Issued", "message": "signed"},
			},
		}
		if published != nil {
			status["ca"] = base64.StdEncoding.EncodeToString(published)
		}
		e.mergeStatus(request, status)
		return true, nil
	})
}

func nested(object map[string]any, path ...string) (string, bool, error) {
	for _, step := range path[:len(path)-1] {
		object, _ = object[step].(map[string]any)
	}
	text, ok := object[path[len(path)-1]].(string)
	return text, ok, nil
}

// runServiceCA plays OpenShift's service-ca in the test's Namespace, as its documentation
// says: a Service with the annotation gets a Secret with a certificate for
// <service>.<namespace>.svc, which the Service owns; a ConfigMap with the annotation gets
// the CAs.
func (e *env) runServiceCA() {
	e.Helper()
	ca := e.authority("openshift-service-serving-signer")
	services, err := e.kube.CoreV1().Services(e.namespace).Watch(e.ctx, metav1.ListOptions{})
	e.must(err)
	bundles, err := e.kube.CoreV1().ConfigMaps(e.namespace).Watch(e.ctx, metav1.ListOptions{})
	e.must(err)
	for source, serve := range map[watch.Interface]func(watch.Event){
		services: func(event watch.Event) { e.issueFor(ca, event.Object.(*corev1.Service)) },
		bundles:  func(event watch.Event) { e.injectCA(ca, event.Object.(*corev1.ConfigMap)) },
	} {
		e.Cleanup(source.Stop)
		go func() {
			for event := range source.ResultChan() {
				if event.Type == watch.Added || event.Type == watch.Modified {
					serve(event)
				}
			}
		}()
	}
}

func (e *env) issueFor(ca authority, service *corev1.Service) {
	name := service.Annotations[vocabulary.AnnotationServingCertSecret]
	if name == "" {
		return
	}
	if there, err := e.kube.CoreV1().Secrets(e.namespace).Get(e.ctx, name, metav1.GetOptions{}); err == nil {
		if there.Annotations["service.beta.openshift.io/originating-service-uid"] != string(service.UID) {
			patch := fmt.Sprintf(`{"metadata": {"annotations": {%q: "secret %s/%s does not have corresponding service UID %s"}}}`,
				vocabulary.AnnotationServingCertError, e.namespace, name, service.UID)
			if service.Annotations[vocabulary.AnnotationServingCertError] == "" {
				_, err := e.kube.CoreV1().Services(e.namespace).Patch(e.ctx, service.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				e.report(err)
			}
		}
		return
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	e.report(err)
	host := service.Name + "." + e.namespace + ".svc"
	_, err = e.kube.CoreV1().Secrets(e.namespace).Create(e.ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Annotations:     map[string]string{"service.beta.openshift.io/originating-service-name": service.Name, "service.beta.openshift.io/originating-service-uid": string(service.UID)},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: service.Name, UID: service.UID}},
		},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: ca.sign(e, key.Public(), []string{host, host + ".cluster.local"}), corev1.TLSPrivateKeyKey: keyPEM(e, key)},
	}, metav1.CreateOptions{})
	e.report(err)
}

func (e *env) injectCA(ca authority, bundle *corev1.ConfigMap) {
	if bundle.Annotations[vocabulary.AnnotationInjectCABundle] != "true" || bundle.Data[vocabulary.KeyServiceCA] != "" {
		return
	}
	injected := bundle.DeepCopy()
	injected.Data = map[string]string{vocabulary.KeyServiceCA: string(ca.pem())}
	_, err := e.kube.CoreV1().ConfigMaps(e.namespace).Update(e.ctx, injected, metav1.UpdateOptions{})
	e.report(err)
}

// report is for what plays a controller beside the test. Conflicts come again as events,
// and the end of the test ends everything.
func (e *env) report(err error) {
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && e.ctx.Err() == nil {
		e.Errorf("a controller that the test plays: %v", err)
	}
}
