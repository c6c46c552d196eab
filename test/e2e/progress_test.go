package e2e

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// While an installation waits, it reports its Deployment, the certificate that
// a client has yet to issue, and its webhook; then what became of each, and last that it is done.
func TestBundleInstallTellsProgress(t *testing.T) {
	t.Parallel()
	term := &terminal{env: newBareEnv(t)}
	command := term.start("bundle", "install", term.hookBundle("hook", unspoilt), "-n", term.namespace, "--yes", "--certificates=none")
	steps := []struct{ waits, settled string }{
		{"Deployment hook is Progressing", "Deployment hook is Available"},
		{"certificate of hook: Bootstrap: Secret " + term.namespace + "/" + hookCertificate + " holds no certificate", "certificate of hook, until "},
		{"webhook configmaps.hook.example.com is Waiting", "webhook configmaps.hook.example.com is Registered"},
	}
	for _, step := range steps {
		command.says(step.waits)
	}
	issued := mint(term.env, "hook-service")
	storeCertificate(term.env, issued)
	command.says("no client has injected a caBundle")
	inject(term.env, issued.CA)
	said, exit := command.end()
	installtest.Same(t, "exit code", 0, exit)
	for _, step := range steps {
		if !inOrder(said, step.waits, step.settled, "hook.v1 is Succeeded", "hook.v1 is installed, its webhook is live") {
			t.Errorf("it does not report in this order: %+v", step)
		}
	}
	if t.Failed() {
		t.Log(said)
	}
}

func inOrder(said string, parts ...string) bool {
	for _, part := range parts {
		_, after, found := strings.Cut(said, part)
		if !found {
			return false
		}
		said = after
	}
	return true
}

// mint creates a certificate for a Service of the Namespace, of a CA of its own.
func mint(e *env, service string) certs.Generation {
	e.Helper()
	name := service + "." + e.namespace + ".svc"
	g, err := certs.Mint(certs.Request{Number: 1, Names: []string{name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 6, 0)})
	e.must(err)
	return g
}

// inject puts a caBundle into the registration, as cainjectors do.
func inject(e *env, ca []byte) {
	e.Helper()
	registered := e.registration()
	patch := fmt.Appendf(nil, `[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":%q}]`, base64.StdEncoding.EncodeToString(ca))
	kube.Patch(e, kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations(), registered.Name, types.JSONPatchType, patch)
}

// storeCertificate puts a certificate where the pods of the plain webhook server look for it.
func storeCertificate(e *env, g certs.Generation) {
	e.Helper()
	kube.Create(e, kubeClient.CoreV1().Secrets(e.namespace), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: hookCertificate}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: g.Certificate, corev1.TLSPrivateKeyKey: g.Key, "ca.crt": g.CA},
	})
}
