package page

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// redaction omits the paths of the URLs that webhooks call: they can contain tokens. Errors of API servers contain
// them.
type redaction struct{ known *strings.Replacer }

// redactionOf knows the URLs of some webhooks. A longer URL precedes its prefixes.
func redactionOf(webhooks []doctor.Webhook) redaction {
	urls := lists.FilterMap(webhooks, func(w doctor.Webhook) (string, bool) { return w.URL, w.URL != "" && w.URL != WithoutPath(w.URL) })
	slices.SortFunc(urls, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	var pairs []string
	for _, u := range lists.Distinct(urls) {
		pairs = append(pairs, u, WithoutPath(u))
	}
	return redaction{strings.NewReplacer(pairs...)}
}

// calledURL is a URL in an error of net/http. API servers call Services by names that end with ".svc".
var calledURL = regexp.MustCompile(`(\b(?:Get|Post|Put|Head) \\?")(https?://[^"\\\s]+)`)

// text omits the paths from a message.
func (r redaction) text(message string) string {
	return calledURL.ReplaceAllStringFunc(r.known.Replace(message), func(called string) string {
		parts := calledURL.FindStringSubmatch(called)
		if u, err := url.Parse(parts[2]); err == nil && strings.HasSuffix(u.Hostname(), ".svc") {
			return called
		}
		return parts[1] + WithoutPath(parts[2])
	})
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
