package integration

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func (e *env) authority(name string) authority {
	e.Helper()
	return authorityUntil(e, name, time.Now().AddDate(1, 0, 0))
}

func authorityUntil(e *env, name string, end time.Time) authority {
	e.Helper()
	key := installtest.OrPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: end,
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
	}
	certificate := installtest.OrPanic(x509.ParseCertificate(authority{template, key}.certify(e, template, key.Public())))
	return authority{certificate, key}
}

func (a authority) certify(e *env, certificate *x509.Certificate, key crypto.PublicKey) []byte {
	e.Helper()
	return installtest.OrPanic(x509.CreateCertificate(rand.Reader, certificate, a.certificate, key, a.key))
}

func (a authority) sign(e *env, key crypto.PublicKey, names []string) []byte {
	e.Helper()
	return a.signUntil(e, key, names, time.Now().AddDate(0, 3, 0))
}

func (a authority) signUntil(e *env, key crypto.PublicKey, names []string, end time.Time) []byte {
	e.Helper()
	serial := installtest.OrPanic(rand.Int(rand.Reader, big.NewInt(1<<62)))
	der := a.certify(e, &x509.Certificate{
		SerialNumber: serial, DNSNames: names, NotBefore: time.Now().Add(-time.Hour), NotAfter: end,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key)
	return certificatePEM(der)
}

func (a authority) pem() []byte { return certificatePEM(a.certificate.Raw) }

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func keyPEM(e *env, key *ecdsa.PrivateKey) []byte {
	e.Helper()
	der := installtest.OrPanic(x509.MarshalPKCS8PrivateKey(key))
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func signingCA(e *env, secret string, n int) {
	e.Helper()
	ca := e.authority(fmt.Sprintf("internal %d", n))
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: secret}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: ca.pem(), corev1.TLSPrivateKeyKey: keyPEM(e, ca.key), "ca.crt": ca.pem()},
	}
	store(e, s)
}

func store(e *env, s *corev1.Secret) {
	e.Helper()
	secrets := e.kube.CoreV1().Secrets(e.namespace)
	_, err := secrets.Create(e.ctx, s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		there := kube.Get(e, secrets, s.Name)
		there.Data = s.Data
		kube.Update(e, secrets, there)
		return
	}
	e.must(err)
}

// signRequests plays an issuer that is not cert-manager's own, and publishes no CA, or
// the one that it is given: it signs the requests of the Namespace's one Certificate.
func signRequests(e *env, published []byte) {
	e.Helper()
	requests := issuers.Certificates.GroupVersion().WithResource("certificaterequests")
	signer := e.authority("corporate")
	e.eventually("a request is signed", func() (bool, any) {
		list := kube.List(e, e.any.Resource(requests).Namespace(e.namespace), metav1.ListOptions{})
		if len(list.Items) == 0 {
			return false, "no request"
		}
		request := list.Items[0]
		text := installtest.OrPanic(base64.StdEncoding.DecodeString(nested(request.Object, "spec", "request")))
		block, _ := pem.Decode(text)
		asked := installtest.OrPanic(x509.ParseCertificateRequest(block.Bytes))
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
		patch := installtest.OrPanic(json.Marshal(map[string]any{"status": status}))
		kube.Patch(e, client(e, request), request.GetName(), types.MergePatchType, patch, "status")
		return true, nil
	})
}

func nested(object map[string]any, path ...string) string {
	for _, step := range path[:len(path)-1] {
		object, _ = object[step].(map[string]any)
	}
	text, _ := object[path[len(path)-1]].(string)
	return text
}

// report reports errors of a played controller, except conflicts, which are retried by events, and the test's end.
func report(e *env, err error) {
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && e.ctx.Err() == nil {
		e.Errorf("a controller that the test plays: %v", err)
	}
}
