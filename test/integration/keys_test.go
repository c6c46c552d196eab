package integration

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// keyWatch knows every state of every Secret of all Namespaces since it began.
type keyWatch struct {
	*env
	mutex   sync.Mutex
	secrets []*corev1.Secret
}

func (e *env) watchKeys() *keyWatch {
	e.Helper()
	w := &keyWatch{env: e}
	source, err := e.kube.CoreV1().Secrets(metav1.NamespaceAll).Watch(e.ctx, metav1.ListOptions{})
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
	marker := w.marker()
	w.eventually("the watch has told of everything", func() (bool, any) {
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
	secrets := w.all()
	authorities := map[string]*x509.Certificate{}
	for _, secret := range secrets {
		for _, value := range secret.Data {
			for _, ca := range split(value) {
				if c := parse(ca); secret.Namespace == w.namespace && c != nil && c.IsCA {
					authorities[string(c.Raw)] = c
				}
			}
		}
	}
	seen := 0
	for _, secret := range secrets {
		for where, text := range textsOf(secret) {
			for _, key := range privateKeys(text) {
				seen++
				for _, ca := range authorities {
					if ca.PublicKey.(interface{ Equal(crypto.PublicKey) bool }).Equal(key.Public()) {
						w.Errorf("%s of Secret %s/%s has the private key of the CA %q", where, secret.Namespace, secret.Name, ca.Subject)
					}
				}
			}
		}
	}
	if seen < 2 || len(authorities) < 2 {
		w.Errorf("%d keys and %d CAs were seen: this shows nothing", seen, len(authorities))
	}
}

// textsOf are all that a Secret can hold a key in, by where they are.
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
