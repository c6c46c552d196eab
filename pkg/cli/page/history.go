package page

import (
	"crypto/x509"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// History is what was observed of the certificates of Deployments since the page was opened. The status in the cluster
// has the present only.
type History map[certificateKey][]sample

type certificateKey struct{ namespace, deployment string }

type sample struct {
	at              time.Time
	phase           string
	trusted         string // fingerprints of CAs
	pods            string // that serve the certificate while it replaces another
	servingIdentity string
}

// maxSamples is how many changes of one certificate are kept. A rotation has about ten.
const maxSamples = 200

// Add returns the history with what changed. It does not modify the old one.
func (h History) Add(f Facts, now time.Time) History {
	next := History{}
	for _, r := range f.Rollouts {
		for _, d := range r.Status.Deployments {
			if d.Certificate == nil {
				continue
			}
			key := certificateKey{r.Namespace, d.Name}
			next[key] = added(h[key], sampleOf(d, r.Namespace, f, now))
		}
	}
	return next
}

func added(samples []sample, s sample) []sample {
	if len(samples) > 0 {
		last := samples[len(samples)-1]
		if last.at = s.at; last == s {
			return samples
		}
	}
	samples = append(slices.Clip(samples), s)
	return samples[max(0, len(samples)-maxSamples):]
}

func sampleOf(d managerv1alpha1.DeploymentStatus, namespace string, f Facts, now time.Time) sample {
	var names []string
	for _, r := range d.Registrations() {
		names = append(append(names, r.Configuration), r.CRDs...)
	}
	live := lists.Filter(f.Webhooks, func(w doctor.Webhook) bool {
		return w.Service.Namespace == namespace && slices.Contains(names, w.Object)
	})
	trusted := lists.Map(trustedCAs(live), func(ca *x509.Certificate) string { return shortFingerprint(ca.Raw) })
	return sample{at: now, phase: string(d.Certificate.Phase), trusted: strings.Join(lists.Sorted(trusted), " and "), pods: d.Certificate.Endpoints.String(), servingIdentity: shortened(d.Certificate.CAFingerprint)}
}

func shortened(fingerprint string) string { return fingerprint[:min(8, len(fingerprint))] }

// chart returns nothing while nothing has changed.
func (h History) chart(of certificateKey, now time.Time) Chart {
	samples := h[of]
	if len(samples) < 2 {
		return Chart{}
	}
	var c Chart
	for _, row := range []struct {
		name string
		of   func(sample) string
	}{
		{"phase", func(s sample) string { return s.phase }},
		{"caBundle trusts CAs", func(s sample) string { return s.trusted }},
		{"CA of the certificate", func(s sample) string { return s.servingIdentity }},
		{"pods", func(s sample) string { return s.pods }},
	} {
		if bars := barsOf(samples, row.of, now); len(bars) > 0 {
			c.add(row.name, bars...)
		}
	}
	c.mark(now)
	return c
}

// barsOf joins consecutive equal texts. Empty texts have no bar.
func barsOf(samples []sample, of func(sample) string, now time.Time) (bars []Bar) {
	var texts []string
	for i, s := range samples {
		until := now
		if i+1 < len(samples) {
			until = samples[i+1].at
		}
		text := of(s)
		switch {
		case text == "":
		case len(bars) > 0 && bars[len(bars)-1].Text == text && bars[len(bars)-1].To.Equal(s.at):
			bars[len(bars)-1].To = until
		default:
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
			bars = append(bars, Bar{s.at, until, text, slices.Index(texts, text) % colors})
		}
	}
	return bars
}

// colors is the number of colors of bars in the style sheet.
const colors = 6
