package integration

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/httpserver"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// Who may scrape the manager is what the API server reports of the caller, with no more permissions
// than manifests/ grant to the manager and to scrapers.
func TestMetricsAccess(t *testing.T) {
	e := newParallelEnv(t)
	grant(e)
	manager, _ := typedClients(t, asAccount())
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "metrics") })
	server, err := httpserver.Start("127.0.0.1:0", httpserver.Authorized(manager, handler, logger()), nil, logger())
	e.must(err)
	t.Cleanup(server.Close)

	stranger, scraper := tokenOf(e, "stranger"), tokenOf(e, "scraper")
	letScrape(e, "scraper")
	answer := func(path, authorization string) int {
		request, err := http.NewRequestWithContext(e.ctx, http.MethodGet, "http://"+server.Address()+path, nil)
		e.must(err)
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		response, err := http.DefaultClient.Do(request)
		e.must(err)
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		e.must(err)
		if (response.StatusCode == http.StatusOK) != (string(body) == "metrics") {
			t.Errorf("%d with the body %q", response.StatusCode, body)
		}
		return response.StatusCode
	}
	e.eventually("the scraper is answered", func() (bool, any) {
		code := answer("/metrics", "Bearer "+scraper)
		return code == http.StatusOK, code
	})
	for name, test := range map[string]struct {
		path, authorization string
		want                int
	}{
		"no credentials":                {"/metrics", "", http.StatusUnauthorized},
		"another scheme":                {"/metrics", "Basic " + scraper, http.StatusUnauthorized},
		"a forged token":                {"/metrics", "Bearer " + scraper + "x", http.StatusUnauthorized},
		"a user without permission":     {"/metrics", "Bearer " + stranger, http.StatusForbidden},
		"a scraper at another path":     {"/debug", "Bearer " + scraper, http.StatusForbidden},
		"a scraper":                     {"/metrics", "Bearer " + scraper, http.StatusOK},
		"a scraper, scheme in capitals": {"/metrics", "BEARER " + scraper, http.StatusOK},
	} {
		same(t, name+": the status code", answer(test.path, test.authorization), test.want)
	}
}

// Unknown callers cannot make the manager flood the API server, and a scraper that was allowed
// before is answered meanwhile.
func TestMetricsAccessIsLimited(t *testing.T) {
	e := newParallelEnv(t)
	handler := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	server, err := httpserver.Start("127.0.0.1:0", httpserver.Authorized(e.kube, handler, logger()), nil, logger())
	e.must(err)
	t.Cleanup(server.Close)
	scraper := tokenOf(e, "scraper")
	letScrape(e, "scraper")
	answer := func(token string) int {
		request, err := http.NewRequestWithContext(e.ctx, http.MethodGet, "http://"+server.Address()+"/metrics", nil)
		e.must(err)
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		e.must(err)
		response.Body.Close()
		return response.StatusCode
	}
	e.eventually("the scraper is answered", func() (bool, any) {
		code := answer(scraper)
		return code == http.StatusOK, code
	})
	codes := map[int]int{}
	for i := range 200 {
		codes[answer(fmt.Sprint("forged-", i))]++
		if code := answer(scraper); code != http.StatusOK {
			t.Fatalf("after %d forged tokens the scraper is answered with %d", i, code)
		}
	}
	if codes[http.StatusTooManyRequests] == 0 || codes[http.StatusOK] > 0 || codes[http.StatusUnauthorized]+codes[http.StatusTooManyRequests] != 200 {
		t.Errorf("200 forged tokens are answered with %v", codes)
	}
}

func tokenOf(e *env, account string) string {
	e.Helper()
	accounts := e.kube.CoreV1().ServiceAccounts(e.namespace)
	kube.Create(e, accounts, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}})
	request, err := accounts.CreateToken(e.ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	e.must(err)
	return request.Status.Token
}

func letScrape(e *env, account string) {
	e.Helper()
	role := &rbacv1.ClusterRole{}
	read(e, "metricsreader.yaml", role)
	if _, err := e.kube.RbacV1().ClusterRoles().Create(e.ctx, role, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		e.must(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: e.namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: e.namespace, Name: account}},
	}
	kube.Create(e, e.kube.RbacV1().ClusterRoleBindings(), binding)
}
