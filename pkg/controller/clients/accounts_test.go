package clients

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The clients of an account impersonate it, and are kept while few accounts are in use.
func TestAccounts(t *testing.T) {
	var user string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user = r.Header.Get("Impersonate-User")
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	set := installtest.OrPanic(New(&rest.Config{Host: server.URL}))
	as := func(account string) Set { return installtest.OrPanic(set.Accounts.Of(account)) }
	first := as("system:serviceaccount:shop:installer")
	for _, test := range []struct {
		set  Set
		want string
	}{{first, "system:serviceaccount:shop:installer"}, {as("other"), "other"}, {set, ""}} {
		_, err := test.set.Kube.CoreV1().Secrets("shop").Get(t.Context(), "any", metav1.GetOptions{})
		if err == nil {
			t.Fatal("the server knows no Secret")
		}
		installtest.Same(t, "the user who reads", test.want, user)
	}
	installtest.Same(t, "the clients are kept", true, first.Kube == as("system:serviceaccount:shop:installer").Kube)
	for i := range mostAccounts {
		as(fmt.Sprint("account-", i))
	}
	installtest.Same(t, "the number of accounts with clients", mostAccounts, set.Accounts.sets.Len())
	installtest.Same(t, "the clients of an account that was not used for long are kept", false, first.Kube == as("system:serviceaccount:shop:installer").Kube)
}
