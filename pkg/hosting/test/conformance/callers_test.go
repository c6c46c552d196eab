package conformance

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func TestCallers(t *testing.T) {
	namespace, client := newNamespace(t, "callers")
	entitled := tokenOf(t, client, namespace, "entitled")
	stranger := tokenOf(t, client, namespace, "stranger")
	allowPost(t, client, namespace, serviceaccount.MakeUsername(namespace, "entitled"), "/judge")

	for name, test := range map[string]struct {
		flags []string
		want  map[string]int // by token
	}{
		"anybody":        {nil, map[string]int{"": 200, "wrong": 200, stranger: 200, entitled: 200}},
		"who is known":   {[]string{"--authenticate-callers"}, map[string]int{"": 403, "wrong": 401, stranger: 200, entitled: 200}},
		"who is allowed": {[]string{"--authorize-callers"}, map[string]int{"": 403, "wrong": 401, stranger: 403, entitled: 200}},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, judgingIn(namespace), append(test.flags, "--authentication-skip-lookup")...)
			for token, want := range test.want {
				code, body := send(t, http.MethodPost, h.url("/judge"), token)
				if code == http.StatusBadRequest && strings.Contains(body, "does not decode") {
					code = http.StatusOK
				}
				if code != want {
					t.Errorf("with the token %.10q: HTTP %d with %s, want %d", token, code, body, want)
				}
			}
			if code, body := send(t, http.MethodGet, h.url("/readyz"), ""); code != http.StatusOK {
				t.Errorf("a probe is answered HTTP %d with %s", code, body)
			}
			wantMetrics := http.StatusOK
			if test.flags != nil {
				wantMetrics = http.StatusForbidden
			}
			if code, body := send(t, http.MethodGet, h.url("/metrics"), ""); code != wantMetrics {
				t.Errorf("metrics are answered HTTP %d with %.100s, want %d", code, body, wantMetrics)
			}
		})
	}
}

// A caller that may use one webhook reaches no other one by another spelling of its path.
func TestSpellingsOfAPath(t *testing.T) {
	namespace, client := newNamespace(t, "spellings")
	token := tokenOf(t, client, namespace, "entitled")
	allowPost(t, client, namespace, serviceaccount.MakeUsername(namespace, "entitled"), "/judge")
	b := judgingIn(namespace)
	b.RegisterWebhook("secret", obeying(hosting.Validating[*corev1.ConfigMap], namespace))
	h := start(t, b, "--authorize-callers", "--authentication-skip-lookup")
	address, _ := strings.CutSuffix(strings.TrimPrefix(h.url("/judge"), "https://"), "/judge")
	reaches := func(path string) (bool, string) {
		conn := hostingtest.DialTLS(t, address)
		_, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", path, token)
		hostingtest.Must(t, err)
		answer, err := io.ReadAll(conn)
		if len(answer) == 0 {
			hostingtest.Must(t, err)
		}
		return strings.Contains(string(answer), "this webhook accepts"), string(answer)
	}
	if handled, answer := reaches("/judge"); !handled {
		t.Errorf("the allowed path is answered with %s", answer)
	}
	for _, path := range []string{
		"/secret", "//secret", "/secret/", "/./secret", "/judge/../secret", "/judge//../secret", "/judge/%2e%2e/secret", "/judge/..%2fsecret",
		"/%73ecret", "/secret?x=/judge", "/healthz/../secret", "/readyz/%2e%2e/secret", "/judge%2f..%2fsecret", "/secret#/judge", "/secret;/judge",
	} {
		if handled, answer := reaches(path); handled {
			t.Errorf("%s is answered with %s", path, answer)
		}
	}
}

func TestAPIServerIsACallerToo(t *testing.T) {
	namespace, client := newNamespace(t, "callers")
	start(t, judgingIn(namespace), "--register-webhooks", "--authenticate-callers", "--authentication-skip-lookup")
	hostingtest.Eventually(t, "the API server is refused", func() bool {
		err := dryRun(t.Context(), client, namespace, "allow")
		return err != nil && strings.Contains(err.Error(), "only authenticated callers are answered")
	})
}

func TestCallersWithCertificates(t *testing.T) {
	known, err := newClientCertificate("kube-apiserver")
	hostingtest.Must(t, err)
	stranger, err := newClientCertificate("kube-apiserver")
	hostingtest.Must(t, err)
	caFile := filepath.Join(t.TempDir(), "ca.crt")
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate[0]})
	hostingtest.Must(t, os.WriteFile(caFile, authority, 0o600))
	h := start(t, judging(), "--authenticate-callers", "--client-ca-file="+caFile, "--authentication-skip-lookup")
	for name, test := range map[string]struct {
		certificates []tls.Certificate
		want         int
	}{
		"none":                 {nil, http.StatusForbidden},
		"of another authority": {[]tls.Certificate{stranger}, http.StatusUnauthorized},
		"of the authority":     {[]tls.Certificate{known}, http.StatusMethodNotAllowed}, // since it is a GET
	} {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: test.certificates}}
			defer transport.CloseIdleConnections()
			response, err := (&http.Client{Transport: transport}).Get(h.url("/judge"))
			hostingtest.Must(t, err)
			defer response.Body.Close()
			hostingtest.Same(t, "the status", test.want, response.StatusCode)
		})
	}
}

func newClientCertificate(user string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: user}, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key}, nil
}

func send(t *testing.T, method, url, token string) (code int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	hostingtest.Must(t, err)
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	var response *http.Response
	hostingtest.Eventually(t, "the server listens", func() bool {
		response, err = (&http.Client{Transport: transport}).Do(request)
		return !errors.Is(err, syscall.ECONNREFUSED)
	})
	hostingtest.Must(t, err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	hostingtest.Must(t, err)
	return response.StatusCode, string(data)
}

func tokenOf(t *testing.T, client kubernetes.Interface, namespace, name string) string {
	t.Helper()
	accounts := client.CoreV1().ServiceAccounts(namespace)
	kube.Create(t, accounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}})
	request, err := accounts.CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	hostingtest.Must(t, err)
	return request.Status.Token
}

// allowPost returns when the API server applies the permission: a process caches a denial.
func allowPost(t *testing.T, client kubernetes.Interface, namespace, user, path string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: namespace + "-post"}
	rules := []rbacv1.PolicyRule{{NonResourceURLs: []string{path}, Verbs: []string{"post"}}}
	kube.Create(t, client.RbacV1().ClusterRoles(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules})
	kube.Create(t, client.RbacV1().ClusterRoleBindings(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	})
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: "post"},
	}}
	hostingtest.Eventually(t, user+" may post to "+path, func() bool {
		answer, err := client.AuthorizationV1().SubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed
	})
}
