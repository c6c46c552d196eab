package ui

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/views"
)

// protect sets the headers that keep an answer from pages of other origins, and from caches.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", views.ContentSecurityPolicy()+"; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// refusal returns why a request is not answered; empty if it is. A page of another origin does not know the token. Host is
// checked, too: a name of another site can lead to this machine, and would have the origin of this server.
func (h *Handler) refusal(r *http.Request) (status int, message string) {
	switch {
	case !isThisMachine(r.Host):
		return http.StatusForbidden, "open the address that the command has printed: this server answers at 127.0.0.1 only"
	case !isSameOrigin(r):
		return http.StatusForbidden, "this server answers its own views only"
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, "this server answers GET only"
	case !h.hasToken(r.URL.Path):
		return http.StatusNotFound, "open the address that the command has printed: it has a token, and each run of the command has another one"
	default:
		return 0, ""
	}
}

func isThisMachine(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address // Port 80 is omitted.
	}
	return host == "127.0.0.1" || host == "localhost"
}

// isSameOrigin reports whether a view of this server sent a request, or a user who follows a link to it.
func isSameOrigin(r *http.Request) bool {
	opened := r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" && !opened {
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && u.Host == r.Host
}

func (h *Handler) hasToken(path string) bool {
	token, _, found := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return found && subtle.ConstantTimeCompare([]byte(token), []byte(h.token)) == 1
}
