package integration

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

type keyWatch struct {
	*env
	mutex   sync.Mutex
	secrets []*corev1.Secret
}

func watchKeys(e *env) *keyWatch {
	e.Helper()
	w := &keyWatch{env: e}
	secrets := e.kube.CoreV1().Secrets(metav1.NamespaceAll)
	now, err := secrets.List(e.ctx, metav1.ListOptions{})
	e.must(err)
	for i := range now.Items {
		w.secrets = append(w.secrets, &now.Items[i])
	}
	// The API server may end a watch at any time.
	source, err := toolswatch.NewRetryWatcherWithContext(e.ctx, now.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return secrets.Watch(ctx, options)
		},
	})
	e.must(err)
	e.Cleanup(source.Stop)
	go func() {
		for event := range source.ResultChan() {
			if secret, ok := event.Object.(*corev1.Secret); ok && event.Type != watch.Bookmark {
				w.mutex.Lock()
				w.secrets = append(w.secrets, secret)
				w.mutex.Unlock()
			}
		}
	}()
	return w
}

// all are the states up to now.
func (w *keyWatch) all() (secrets []*corev1.Secret) {
	w.Helper()
	marker := marker(w.env)
	w.eventually("the watch has reported everything", func() (bool, any) {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		secrets = slices.Clone(w.secrets)
		return slices.ContainsFunc(secrets, func(s *corev1.Secret) bool { return s.UID == marker.UID }), len(secrets)
	})
	return secrets
}

// holdNoCAKey fails when any Secret ever held, anywhere in it, the private key of a CA that
// is in one of the test's own.
func (w *keyWatch) holdNoCAKey() {
	w.Helper()
	found, keys, authorities := keysOfCAs(w.all(), w.namespace)
	for _, where := range found {
		w.Error(where)
	}
	if keys < 2 || authorities < 2 {
		w.Errorf("%d keys and %d CAs were found: this shows nothing", keys, authorities)
	}
}

// keysOfCAs reports where the keys of a Namespace's CAs are, and how many keys and CAs it saw.
func keysOfCAs(secrets []*corev1.Secret, namespace string) (found []string, keys, cas int) {
	authorities := map[string]*x509.Certificate{}
	for _, secret := range secrets {
		for _, value := range secret.Data {
			for _, ca := range split(value) {
				if c := parse(ca); secret.Namespace == namespace && c != nil && c.IsCA {
					authorities[string(c.Raw)] = c
				}
			}
		}
	}
	for _, secret := range secrets {
		for where, text := range textsOf(secret) {
			for _, key := range privateKeys(text) {
				keys++
				for _, ca := range authorities {
					if ca.PublicKey.(interface{ Equal(crypto.PublicKey) bool }).Equal(key.Public()) {
						found = append(found, fmt.Sprintf("%s of Secret %s/%s has the private key of the CA %q", where, secret.Namespace, secret.Name, ca.Subject))
					}
				}
			}
		}
	}
	return found, keys, len(authorities)
}

// The search finds a key that exists, wherever it is and however it is written.
func TestThePrivateKeyOfACAIsFound(t *testing.T) {
	key := installtest.OrPanic(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true}
	ca := installtest.OrPanic(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))
	pkcs8 := installtest.OrPanic(x509.MarshalPKCS8PrivateKey(key))
	sec1 := installtest.OrPanic(x509.MarshalECPrivateKey(key))
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
	serving := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: "own", Name: servingSecret},
		Data:       map[string][]byte{"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ca})},
	}
	for how, planted := range map[string]*corev1.Secret{
		"PEM":                  {Data: map[string][]byte{"ca.key": text}},
		"DER":                  {Data: map[string][]byte{"ca.key": pkcs8}},
		"SEC 1":                {Data: map[string][]byte{"ca.key": sec1}},
		"base64":               {Data: map[string][]byte{"note": []byte(base64.StdEncoding.EncodeToString(text))}},
		"after a certificate":  {Data: map[string][]byte{"all.pem": slices.Concat(serving.Data["ca.crt"], text)}},
		"an annotation":        {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"state": string(text)}}},
		"an annotation's code": {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"state": base64.StdEncoding.EncodeToString(pkcs8)}}},
	} {
		planted.Namespace, planted.Name = "elsewhere", "planted"
		if found, _, _ := keysOfCAs([]*corev1.Secret{serving, planted}, "own"); len(found) != 1 {
			t.Errorf("of a key as %s is found %q", how, found)
		}
	}
	if found, keys, cas := keysOfCAs([]*corev1.Secret{serving}, "own"); len(found) != 0 || keys != 0 || cas != 1 {
		t.Errorf("without a planted key %q are found, %d keys and %d CAs", found, keys, cas)
	}
}

func textsOf(secret *corev1.Secret) map[string][]byte {
	texts := map[string][]byte{}
	for name, value := range secret.Data {
		texts["data "+name] = value
	}
	for name, value := range secret.Annotations {
		texts["annotation "+name] = []byte(value)
	}
	for name, value := range secret.Labels {
		texts["label "+name] = []byte(value)
	}
	return texts
}

// privateKeys are those in a text: DER, PEM, or either of them in base64.
func privateKeys(text []byte) (keys []crypto.Signer) {
	if decoded, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(text))); err == nil && len(decoded) > 0 {
		text = decoded
	}
	candidates := [][]byte{text}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		candidates = append(candidates, block.Bytes)
	}
	for _, der := range candidates {
		if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
			keys = append(keys, key.(crypto.Signer))
		} else if key, err := x509.ParseECPrivateKey(der); err == nil {
			keys = append(keys, key)
		} else if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
			keys = append(keys, key)
		}
	}
	return keys
}
