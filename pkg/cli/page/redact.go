package page

import (
	"net/url"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// redaction omits the paths of the URLs that webhooks call: they can contain tokens. Errors of API servers contain
// them. It has the hosts of webhooks.
type redaction map[string]bool

func redactionOf(webhooks []doctor.Webhook) redaction {
	hosts := redaction{}
	for _, w := range webhooks {
		if u, err := url.Parse(w.URL); err == nil && u.Host != "" {
			hosts[strings.ToLower(u.Host)] = true
		}
	}
	return hosts
}

// quotedURL is a URL in a message, perhaps as net/http writes that it called it.
var quotedURL = regexp.MustCompile(`(?i)(\b(?:Get|Post|Put|Head) \\?")?(https?://[^"\\\s]+)`)

// text omits the paths of the URLs of webhooks from a message, and of all URLs that were called.
func (r redaction) text(message string) string {
	return quotedURL.ReplaceAllStringFunc(message, func(quoted string) string {
		parts := quotedURL.FindStringSubmatch(quoted)
		if u, err := url.Parse(parts[2]); err == nil && !r.isSecret(u, parts[1] != "") {
			return quoted
		}
		return parts[1] + WithoutPath(parts[2])
	})
}

// API servers call Services by names that end with ".svc".
func (r redaction) isSecret(u *url.URL, called bool) bool {
	return r[strings.ToLower(u.Host)] || called && !strings.HasSuffix(u.Hostname(), ".svc")
}

func (r redaction) finding(f doctor.Finding) doctor.Finding {
	f.Message, f.Remedy = r.text(f.Message), r.text(f.Remedy)
	return f
}

func (r redaction) event(e corev1.Event) corev1.Event {
	e.Message = r.text(e.Message)
	return e
}

// webhook omits the URL's own path.
func (r redaction) webhook(w doctor.Webhook) doctor.Webhook {
	if w.URL != "" {
		w.URL = WithoutPath(w.URL)
	}
	w.Report = r.text(w.Report)
	return w
}

// WithoutPath returns the scheme and the host of an address: its other parts can contain credentials.
func WithoutPath(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be parsed"
	}
	return u.Scheme + "://" + u.Host
}
