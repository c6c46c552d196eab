package cluster

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The page shows the error of a read, and is sent to other people: the path of a proxy can contain a token.
func TestPathOfTheAPIServerIsNotShown(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	host := strings.TrimPrefix(server.URL, "http://")
	for name, address := range map[string]string{
		"a path":            server.URL + "/k8s/token",
		"a path and a user": "http://user:password@" + host + "/k8s/token/",
		"a user":            "http://token@" + host,
		"no scheme":         host,
	} {
		r := PageReader{Cluster: installtest.OrPanic(New(&rest.Config{Host: address}))}
		facts, read := r.Read(t.Context())
		installtest.Same(t, name+": server", server.URL, facts.Server)
		_, measured := r.Latencies(t.Context())
		for _, err := range []error{read, measured} {
			installtest.Prefix(t, name, `Get "`+server.URL+"/", err.Error())
			if text := err.Error(); strings.Contains(text, "token") || strings.Contains(text, "user") || strings.Contains(text, "cannot be parsed") {
				t.Errorf("%s: %s", name, text)
			}
		}
	}
}

// The time of the API server is that of its answers.
func TestClockAhead(t *testing.T) {
	for name, test := range map[string]struct {
		date string
		want time.Duration
	}{
		"ahead":      {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), time.Hour},
		"behind":     {time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat), -time.Hour},
		"the same":   {time.Now().UTC().Format(http.TimeFormat), 0},
		"not a time": {"yesterday", 0},
	} {
		var path string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			path = r.URL.Path
			w.Header().Set("Date", test.date)
		}))
		t.Cleanup(server.Close)
		c := Cluster{Config: &rest.Config{Host: server.URL + "/proxy"}}
		ahead := c.clockAhead(t.Context())
		installtest.Same(t, name, test.want, page.Clock(0, ahead))
		installtest.Same(t, name+": known", name != "not a time", ahead != nil)
		installtest.Same(t, name+": path", "/proxy/version", path)
	}
}
