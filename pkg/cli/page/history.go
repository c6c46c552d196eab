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

// History is what was observed of the certificates of Deployments since the command began. The status in the cluster has
// no past.
type History map[certificateKey][]sample

type certificateKey struct{ namespace, csv, deployment string }

// sample is what was observed from one time until another one.
type sample struct {
	from, until time.Time
	certificateState
}

type certificateState struct {
	phase   string
	trusted string // fingerprints of CAs
	ca      string // fingerprint of the CA of the certificate
	pods    string // that serve the certificate while it replaces another
}

const (
	// maxSamples is how many changes of one certificate are kept. A rotation has about ten.
	maxSamples = 200
	// maxGap is the time between two observations after which it is not known what happened between them.
	maxGap = time.Minute
)

// Add returns the history with what is observed now. It does not modify the previous history.
func (h History) Add(f Facts, now time.Time) History {
	next := History{}
	for _, r := range f.Rollouts {
		for _, d := range r.Status.Deployments {
			if d.Certificate == nil {
				continue
			}
			key := certificateKey{r.Namespace, r.Name, d.Name}
			next[key] = added(h[key], sample{now, now, stateOf(d, r.Namespace, f)})
		}
	}
	return next
}

func added(samples []sample, s sample) []sample {
	samples = slices.Clone(samples)
	if len(samples) > 0 {
		last := &samples[len(samples)-1]
		if s.from.Sub(last.until) <= maxGap {
			last.until = s.from
			if last.certificateState == s.certificateState {
				return samples
			}
		}
	}
	samples = append(samples, s)
	return samples[max(0, len(samples)-maxSamples):]
}

func stateOf(d managerv1alpha1.DeploymentStatus, namespace string, f Facts) certificateState {
	var names []string
	for _, r := range d.Registrations() {
		names = append(append(names, r.Configuration), r.CRDs...)
	}
	live := lists.Filter(f.Webhooks, func(w doctor.Webhook) bool {
		return w.Service.Namespace == namespace && slices.Contains(names, w.Object)
	})
	trusted := lists.Map(trustedCAs(live), func(ca *x509.Certificate) string { return shortFingerprint(ca.Raw) })
	c := d.Certificate
	return certificateState{
		phase: string(c.Phase), trusted: strings.Join(lists.Sorted(trusted), " and "),
		ca: c.CAFingerprint[:min(8, len(c.CAFingerprint))], pods: c.Endpoints.String(),
	}
}

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
		{"CA of the certificate", func(s sample) string { return s.ca }},
		{"pods", func(s sample) string { return s.pods }},
	} {
		if bars := barsOf(samples, row.of); len(bars) > 0 {
			c.add(row.name, bars...)
		}
	}
	c.mark(now)
	return c
}

// barsOf joins consecutive equal texts. Empty texts have no bar.
func barsOf(samples []sample, of func(sample) string) (bars []Bar) {
	var texts []string
	for _, s := range samples {
		text := of(s)
		switch last := len(bars) - 1; {
		case text == "":
		case last >= 0 && bars[last].Text == text && bars[last].To.Equal(s.from):
			bars[last].To = s.until
		default:
			if !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
			bars = append(bars, Bar{s.from, s.until, text, slices.Index(texts, text) % colors})
		}
	}
	return bars
}

// colors is the number of colors of bars in the style sheet.
const colors = 6
