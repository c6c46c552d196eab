package probe

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// asked is a review as the manager sends it; its path is not that of the handlers' review.
var asked = Call{
	Host: "manager-service.shop.svc:443", Path: "/validate", Body: `{"kind":"AdmissionReview","request":{"uid":"u-1"}}`,
	APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview", UID: "u-1",
}

// answering serves one answer to everything over TLS.
func answering(t *testing.T, handler http.HandlerFunc) (address string, bundle []byte) {
	t.Helper()
	ours := newAuthority(t, "ours")
	return serving(t, &tls.Config{Certificates: []tls.Certificate{ours.issue(t)}}, handler), ours.bundle()
}

func with(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if contentType != "" {
			w.Header().Set("Content-Type", contentType)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

const (
	isJSON    = "application/json"
	permitted = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u-1","allowed":true}}`
)

func TestAnswersToAReview(t *testing.T) {
	beta := func(c *Call) { c.APIVersion = "admission.k8s.io/v1beta1" }
	lenient := func(c *Call) { c.AnyAnswer = true }
	denied := strings.Replace(permitted, "true", "false", 1)
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		call   func(*Call)
		want   Reason
		says   string
	}{
		"allowed":                         {answer: with(200, isJSON, permitted), want: Serving},
		"denied":                          {answer: with(200, isJSON, denied), want: Serving},
		"with a charset":                  {answer: with(200, "application/json; charset=utf-8", permitted), want: Serving},
		"without a content type":          {answer: with(200, "", permitted), want: Serving}, // net/http guesses text/plain
		"401":                             {answer: with(401, "", "who are you?"), want: Serving},
		"403":                             {answer: with(403, isJSON, `{"kind":"Status"}`), want: Serving},
		"v1beta1 without kind and uid":    {answer: with(200, isJSON, `{"response":{"allowed":true}}`), call: beta, want: Serving},
		"another path, any answer":        {answer: with(404, "", "404 page not found"), call: lenient, want: PathNotServed, says: `at path "/validate" with status 404 Not Found`},
		"an error, any answer":            {answer: with(500, "", "what?"), call: lenient, want: Serving},
		"a closed connection, any answer": {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, call: lenient, want: Serving},
		"another path":                    {answer: with(404, "", "404 page not found"), want: PathNotServed, says: `answers the AdmissionReview at path "/validate" with status 404 Not Found`},
		"another method":                  {answer: with(405, "", ""), want: PathNotServed, says: "405"},
		"a redirect":                      {answer: http.RedirectHandler("/validate/", http.StatusTemporaryRedirect).ServeHTTP, want: PathNotServed, says: `a redirect to "/validate/"`},
		"an error":                        {answer: with(500, "", "broken"), want: NoReview, says: "status 500 Internal Server Error"},
		"too many requests":               {answer: with(429, "", ""), want: NoReview, says: "429"},
		"a page":                          {answer: with(200, "text/html; charset=utf-8", permitted), want: NoReview, says: `content type "text/html"`},
		"no JSON":                         {answer: with(200, isJSON, "ok"), want: NoReview, says: "a body that is not a JSON object"},
		"nothing":                         {answer: with(200, "", ""), want: NoReview, says: "a body that is not a JSON object"},
		"another kind":                    {answer: with(200, isJSON, `{"apiVersion":"v1","kind":"Status"}`), want: NoReview, says: `kind "Status" of "v1"`},
		"no response":                     {answer: with(200, isJSON, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`), want: NoReview, says: "no response"},
		"no response of v1beta1":          {answer: with(200, isJSON, `{}`), call: beta, want: NoReview, says: "no response"},
		"another uid":                     {answer: with(200, isJSON, strings.Replace(permitted, "u-1", "u-2", 1)), want: NoReview, says: "response.uid"},
		"an endless body":                 {answer: endless, want: NoReview, says: "more than"},
		"endless headers":                 {answer: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) }, want: NoReview},
		"a closed connection":             {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, want: NoReview, says: "a connection that is closed"},
	} {
		t.Run(name, func(t *testing.T) {
			address, bundle := answering(t, tc.answer)
			target := at(address)
			target.Call = asked
			if tc.call != nil {
				tc.call(&target.Call)
			}
			got := All(t.Context(), []Target{target}, bundle, patience)[0]
			if tc.want != Serving {
				mustSay(t, got, tc.want, tc.says)
			} else if got.Reason != Serving || got.Err != nil || got.Leaf == "" || got.NotAfter.IsZero() {
				t.Errorf("%s: %v, leaf %q until %s", got.Reason, got.Err, got.Leaf, got.NotAfter)
			}
		})
	}
}

// endless writes until the client has enough.
func endless(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", isJSON)
	for {
		if _, err := io.WriteString(w, strings.Repeat(" ", 1<<16)); err != nil {
			return
		}
	}
}

// The server gets what an API server would send.
func TestTheReviewThatIsSent(t *testing.T) {
	got := make(chan string, 1)
	address, bundle := answering(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		got <- fmt.Sprint(r.Method, " ", r.Host, r.URL.Path, " ", r.Header.Get("Content-Type"), " ", string(body), err)
		with(200, isJSON, permitted)(w, r)
	})
	target := at(address)
	target.Call = asked
	installtest.Same(t, "reason", Serving, All(t.Context(), []Target{target}, bundle, patience)[0].Reason)
	installtest.Same(t, "the review", "POST manager-service.shop.svc:443/validate application/json "+asked.Body+"<nil>", <-got)
}

// A server that takes its time costs the time for a review and no more, and a cancelled probe blames no server.
func TestAReviewThatIsNotAnswered(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	arrived := make(chan struct{}, 2)
	address, bundle := answering(t, func(_ http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		<-r.Context().Done()
	})
	target := at(address)
	target.Call = asked
	o := patience
	o.Review = 50 * time.Millisecond
	mustSay(t, All(ctx, []Target{target}, bundle, o)[0], NoReview, "nothing within 50ms")
	<-arrived
	go func() {
		<-arrived
		cancel()
	}()
	mustSay(t, All(ctx, []Target{target}, bundle, patience)[0], Interrupted)
}
