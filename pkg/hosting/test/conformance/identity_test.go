package conformance

import (
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"
	"k8s.io/client-go/util/keyutil"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

// apiServerUser is whom the API server presents itself as, to webhooks at one address: an
// administrator writes that into a kubeconfig that the AdmissionConfiguration names.
const apiServerUser = "kube-apiserver"

var identifiedAt = newAddress()

// identifyAPIServer returns the flags that give the API server its identity, and that
// have it publish the authority behind it, as clusters do, where servers look it up.
func identifyAPIServer(dir string) (flags []string, err error) {
	identity, err := newClientCertificate(apiServerUser)
	if err != nil {
		return nil, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: identity.Certificate[0]})
	key, err := keyutil.MarshalPrivateKeyToPEM(identity.PrivateKey)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := runtime.Encode(clientcmdlatest.Codec, &clientcmdapi.Config{AuthInfos: map[string]*clientcmdapi.AuthInfo{
		identifiedAt + ":9443": {ClientCertificateData: certificate, ClientKeyData: key},
	}})
	if err != nil {
		return nil, err
	}
	const admission = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionWebhook
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: %s
`
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, data := range map[string][]byte{
		"kubeconfig":     kubeconfig,
		"admission.yaml": fmt.Appendf(nil, admission, path("kubeconfig")),
		"client-ca.crt":  certificate,
	} {
		if err := os.WriteFile(path(name), data, 0o600); err != nil {
			return nil, err
		}
	}
	return []string{"--admission-control-config-file=" + path("admission.yaml"), "--client-ca-file=" + path("client-ca.crt")}, nil
}

// An API server that shows a certificate is known by it: under the authority that the
// cluster itself publishes, looked up without a flag that names it. Whether it may call
// is then a matter of RBAC.
func TestAPIServerIsKnownByItsCertificate(t *testing.T) {
	t.Parallel()
	if !cluster.Audit.Available() {
		t.Skip("the API server that KUBECONFIG names has not the AdmissionConfiguration of this test")
	}
	namespace := newNamespaceOf(t, "identity")
	client, _ := newClient(t)
	b := hosting.NewBuilder(namespace)
	b.RegisterWebhook("judge", obeying(hosting.Validating[*corev1.ConfigMap], namespace))
	h := launch(t, b, identifiedAt, "--register-webhooks", "--authorize-callers")
	h.waitUntilReady(t)

	isAnswered(t, client, namespace, fmt.Sprintf("User %q cannot post path %q", apiServerUser, "/judge"))
	allowPost(t, client, namespace, apiServerUser, "/judge")
	isAnswered(t, client, namespace, "denied the request: ConfigMap deny asked for it")
}

// isAnswered waits until what should be denied is refused with a message.
func isAnswered(t *testing.T, client kubernetes.Interface, namespace, want string) {
	t.Helper()
	last := "nothing"
	defer func() {
		if t.Failed() {
			t.Logf("last answer: %s", last)
		}
	}()
	eventually(t, "the API server says: "+want, func() bool {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(), doing("deny"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			last = err.Error()
		}
		return strings.Contains(last, want)
	})
}
