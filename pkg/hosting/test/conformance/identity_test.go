package conformance

import (
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clientcmdlatest "k8s.io/client-go/tools/clientcmd/api/latest"
	"k8s.io/client-go/util/keyutil"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// apiServerUser is the user that the API server authenticates as to one webhook server, by the
// kubeconfig of its AdmissionConfiguration.
const apiServerUser = "kube-apiserver"

var identifiedAt = newAddress()

// identifyAPIServer returns the flags that give the API server a client certificate and publish its CA.
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

// The CA of the API server's certificate is looked up in the cluster. RBAC decides whether it may call.
func TestAPIServerIsKnownByItsCertificate(t *testing.T) {
	t.Parallel()
	if !cluster.Audit.Available() {
		t.Skip("the API server that KUBECONFIG names has not the AdmissionConfiguration of this test")
	}
	namespace, client := newNamespace(t, "identity")
	h := launch(t, judgingIn(namespace), identifiedAt, "--register-webhooks", "--authorize-callers")
	h.waitUntilReady(t)

	isAnswered(t, client, namespace, fmt.Sprintf("User %q cannot post path %q", apiServerUser, "/judge"))
	allowPost(t, client, namespace, apiServerUser, "/judge")
	isAnswered(t, client, namespace, "denied the request: ConfigMap deny asked for it")
}

func isAnswered(t *testing.T, client kubernetes.Interface, namespace, want string) {
	t.Helper()
	last := "nothing"
	defer func() {
		if t.Failed() {
			t.Logf("last answer: %s", last)
		}
	}()
	hostingtest.Eventually(t, "the API server answers: "+want, func() bool {
		err := dryRun(t.Context(), client, namespace, "deny")
		if err != nil {
			last = err.Error()
		}
		return strings.Contains(last, want)
	})
}
