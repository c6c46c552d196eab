package conformance

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/tls"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func judgingIn(namespace string) *hosting.Builder {
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("judge", obeying(hosting.Validating[*corev1.ConfigMap], namespace))
	return b
}

// The key of the CA is not stored.
func TestReplicasShareACertificate(t *testing.T) {
	t.Parallel()
	namespace, client := newNamespace(t, "shared")
	var replicas []*host
	for range 3 {
		replicas = append(replicas, launch(t, judgingIn(namespace), newAddress(), "--register-webhooks", "--webhook-url=", "--webhook-service="+namespace+"/hooks"))
	}
	for _, r := range replicas {
		r.waitUntilReady(t)
		hostingtest.Same(t, "the CA of a replica", replicas[0].authority(t), r.authority(t))
	}
	secret := certificateSecret(t, client, namespace)
	hostingtest.Same(t, "the keys of the Secret", []string{"ca.crt", "tls.crt", "tls.key"}, slices.Sorted(maps.Keys(secret.Data)))
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	hostingtest.Must(t, err)
	cas, err := cert.ParseCertsPEM(secret.Data["ca.crt"])
	hostingtest.Must(t, err)
	if cas[0].PublicKey.(*ecdsa.PublicKey).Equal(pair.PrivateKey.(*ecdsa.PrivateKey).Public()) {
		t.Error("the Secret has the key of the CA")
	}
	hostingtest.Eventually(t, "the one CA is registered", func() bool {
		return bytes.Equal(caBundleOf(t, client, namespace), bytes.TrimSpace(secret.Data["ca.crt"]))
	})
}

// No call fails while the Secret changes or is deleted. Another client's certificate is served when it is trusted.
func TestSharedCertificateIsReplacedUnderLoad(t *testing.T) {
	t.Parallel()
	namespace, client := newNamespace(t, "shared")
	address := serveBehindService(t, client, namespace)
	load := startLoad(t, client, namespace)
	secrets := client.CoreV1().Secrets(namespace)
	store := func(change func(*corev1.Secret)) {
		t.Helper()
		secret := certificateSecret(t, client, namespace)
		change(secret)
		kube.Update(t, secrets, secret)
	}

	another, key, err := cert.GenerateSelfSignedCertKey("hooks."+namespace+".svc", nil, []string{"hooks." + namespace + ".svc.cluster.local"})
	hostingtest.Must(t, err)
	old := certificateSecret(t, client, namespace).Data["ca.crt"]
	store(func(s *corev1.Secret) {
		s.Data = map[string][]byte{"tls.crt": another, "tls.key": key, "ca.crt": another}
	})
	leaf, err := cert.ParseCertsPEM(another)
	hostingtest.Must(t, err)
	hostingtest.Eventually(t, "the other certificate is served", func() bool {
		return bytes.Equal(served(t, address.String(), "hooks."+namespace+".svc", caBundleOf(t, client, namespace)), leaf[0].Raw)
	})
	if !bytes.Contains(caBundleOf(t, client, namespace), bytes.TrimSpace(old)) {
		t.Error("the previous CA is not trusted any more, and a replica may serve under it")
	}

	restored := func() bool {
		secret, err := secrets.Get(t.Context(), namespace+"-hooks-certificate", metav1.GetOptions{})
		return err == nil && bytes.Equal(secret.Data["tls.crt"], another) && bytes.Equal(secret.Data["tls.key"], key)
	}
	store(func(s *corev1.Secret) { s.Data["tls.key"] = []byte("no key") })
	hostingtest.Eventually(t, "the key is restored", restored)
	store(func(s *corev1.Secret) { s.Data["ca.crt"], s.Immutable = []byte{}, ptr.To(true) })
	hostingtest.Eventually(t, "the immutable Secret is replaced", restored)
	hostingtest.Must(t, secrets.Delete(t.Context(), namespace+"-hooks-certificate", metav1.DeleteOptions{}))
	hostingtest.Eventually(t, "the Secret is recreated", restored)
	load.another(t, 50)
	load.wantNoneFailed(t)
}

// Each replica has a certificate of its own, and all are trusted.
func TestReplicasWithoutPermissionForSecrets(t *testing.T) {
	t.Parallel()
	namespace, client := newNamespace(t, "own")
	kubeconfig, grant := limitedUser(t, client, namespace)
	grant("get", "create", "update")
	args := []string{"--register-webhooks", "--webhook-url=", "--webhook-service=" + namespace + "/hooks", "--kubeconfig=" + kubeconfig}
	first := start(t, judgingIn(namespace), args...)
	hostingtest.Eventually(t, "the first registers", func() bool { return len(caBundleOf(t, client, namespace)) > 0 })
	second := start(t, judgingIn(namespace), args...)
	bundle := caBundleOf(t, client, namespace)
	for name, h := range map[string]*host{"first": first, "second": second} {
		if !bytes.Contains(bundle, bytes.TrimSpace(h.authority(t))) {
			t.Errorf("the %s replica is ready, and its CA is not registered", name)
		}
	}
	if len(bundle)+1 != len(first.authority(t))+len(second.authority(t)) {
		t.Errorf("the bundle has more than the two:\n%s", bundle)
	}
	if bytes.Equal(first.authority(t), second.authority(t)) {
		t.Error("both replicas have one CA")
	}
	if _, err := client.CoreV1().Secrets(namespace).Get(t.Context(), namespace+"-hooks-certificate", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret: %v", err)
	}
}

func TestAReplicaIsNotReadyBeforeItIsTrusted(t *testing.T) {
	t.Parallel()
	namespace, client := newNamespace(t, "trusted")
	start(t, judgingIn(namespace), "--register-webhooks", "--webhook-url=", "--webhook-service="+namespace+"/hooks", "--certificate-secret="+namespace+"/of-the-first")
	var before []byte
	hostingtest.Eventually(t, "the webhook is registered", func() bool {
		before = caBundleOf(t, client, namespace)
		return len(before) > 0
	})

	kubeconfig, grant := limitedUser(t, client, namespace)
	grant("get")
	h := launch(t, judgingIn(namespace), newAddress(), "--register-webhooks", "--webhook-url=", "--webhook-service="+namespace+"/hooks", "--kubeconfig="+kubeconfig)
	hostingtest.Eventually(t, "the registration keeps the replica from being ready", func() bool {
		code, body := h.get(t, "/readyz")
		return code != 200 && strings.Contains(body, "[+]certificate ok") && strings.Contains(body, "[-]registrations failed: ValidatingWebhookConfiguration "+namespace+"-judge: ")
	})
	hostingtest.Same(t, "the caBundle", string(before), string(caBundleOf(t, client, namespace)))
	grant("get", "create", "update")
	h.waitUntilReady(t)
	after := caBundleOf(t, client, namespace)
	if !bytes.Contains(after, bytes.TrimSpace(h.authority(t))) || !bytes.Contains(after, before) {
		t.Errorf("the replica is ready under the caBundle\n%s", after)
	}
}

// limitedUser returns the kubeconfig of a user with only the granted permissions for webhook configurations.
func limitedUser(t *testing.T, client kubernetes.Interface, name string) (kubeconfig string, grant func(verbs ...string)) {
	t.Helper()
	config, err := clientcmd.LoadFromFile(cluster.Kubeconfig)
	hostingtest.Must(t, err)
	for _, user := range config.AuthInfos {
		user.Impersonate = name
	}
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	hostingtest.Must(t, clientcmd.WriteToFile(*config, kubeconfig))
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}},
	}
	kube.Create(t, client.RbacV1().ClusterRoleBindings(), binding)
	roles := client.RbacV1().ClusterRoles()
	return kubeconfig, func(verbs ...string) {
		t.Helper()
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{admissionregistrationv1.GroupName}, Resources: []string{"validatingwebhookconfigurations"}, Verbs: verbs,
		}}}
		_, err := roles.Create(t.Context(), role, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			_, err = roles.Update(t.Context(), role, metav1.UpdateOptions{})
		}
		hostingtest.Must(t, err)
	}
}

func certificateSecret(t *testing.T, client kubernetes.Interface, namespace string) *corev1.Secret {
	t.Helper()
	secret := kube.Get(t, client.CoreV1().Secrets(namespace), namespace+"-hooks-certificate")
	return secret
}

// caBundleOf returns the registered caBundle, or nothing if the webhook is not registered.
func caBundleOf(t *testing.T, client kubernetes.Interface, namespace string) []byte {
	t.Helper()
	c, err := client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), namespace+"-judge", metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	hostingtest.Must(t, err)
	return bytes.TrimSpace(c.Webhooks[0].ClientConfig.CABundle)
}
