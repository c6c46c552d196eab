package page

import (
	"crypto/x509"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// History is what was observed since the command began. The status in the cluster has no past.
type History struct {
	certificates map[deploymentKey][]span[certificateState]
	webhooks     map[webhookKey][]span[webhookState]
	calls        map[latencyKey][]callCount
	countedAt    time.Time // when calls were counted last; zero before that
	// authorities are the names of CAs, by fingerprint.
	authorities map[string]string
}

type deploymentKey struct{ namespace, csv, deployment string }

type webhookKey struct{ namespace, csv, kind, name string }

type webhookState struct{ state, reason string }

// callCount is the number of calls since the API server started.
type callCount struct {
	at            time.Time
	calls, failed uint64
}

type certificateState struct {
	phase   string
	trusted []string // fingerprints of CAs
	current string   // fingerprint of the CA of the certificate that pods are given
	number  int64    // of that certificate
	served  []served
	pods    string // how many serve that certificate while it replaces another
}

// served is the certificate that an endpoint presents.
type served struct {
	endpoint string
	ca       string // fingerprint; empty if the certificate is not trusted
	text     string // the certificate, or why it is not trusted
}

func (s certificateState) same(as certificateState) bool {
	return s.phase == as.phase && s.current == as.current && s.number == as.number && s.pods == as.pods &&
		slices.Equal(s.trusted, as.trusted) && slices.Equal(s.served, as.served)
}

// Add returns the history with what is observed now. It does not modify the previous history.
func (h History) Add(f Facts, now time.Time) History {
	next := History{
		certificates: map[deploymentKey][]span[certificateState]{}, webhooks: map[webhookKey][]span[webhookState]{},
		calls: h.addedCalls(f), countedAt: f.LatenciesAt, authorities: maps.Clone(h.authorities),
	}
	if next.authorities == nil {
		next.authorities = map[string]string{}
	}
	registrations := byObject(f.Webhooks)
	for _, r := range f.Rollouts {
		for _, d := range r.Status.Deployments {
			for _, w := range d.Registrations() {
				key := webhookKey{r.Namespace, r.Name, string(w.Type), w.GenerateName}
				next.webhooks[key] = observed(h.webhooks[key], webhookState{string(w.State), w.Reason}, now, func(a, b webhookState) bool { return a == b })
			}
			if d.Certificate == nil {
				continue
			}
			live := registeredBy(d, r.Namespace, registrations)
			cas := trustedCAs(live)
			for _, ca := range cas {
				next.authorities[fingerprintOf(ca)] = nameOf(ca)
			}
			key := deploymentKey{r.Namespace, r.Name, d.Name}
			next.certificates[key] = observed(h.certificates[key], stateOf(*d.Certificate, cas, answersOf(live, f)), now, certificateState.same)
		}
	}
	return next
}

// byObject returns webhooks by the name of the object that registers them.
func byObject(webhooks []doctor.Webhook) map[string][]doctor.Webhook {
	all := map[string][]doctor.Webhook{}
	for _, w := range webhooks {
		all[w.Object] = append(all[w.Object], w)
	}
	return all
}

// registeredBy returns the live registrations of a Deployment.
func registeredBy(d managerv1alpha1.DeploymentStatus, namespace string, registrations map[string][]doctor.Webhook) (live []doctor.Webhook) {
	for _, w := range d.Registrations() {
		for _, object := range append([]string{w.Configuration}, w.CRDs...) {
			live = append(live, lists.Filter(registrations[object], func(r doctor.Webhook) bool { return r.Service.Namespace == namespace })...)
		}
	}
	return live
}

// answersOf returns one answer for each endpoint, in the order of their names.
func answersOf(live []doctor.Webhook, f Facts) []doctor.Answer {
	var all []doctor.Answer
	for _, w := range live {
		all = append(all, f.Answers[w.String()]...)
	}
	all = lists.Unique(lists.Filter(all, func(a doctor.Answer) bool { return a.Asked }), func(a doctor.Answer) string { return a.Endpoint })
	slices.SortFunc(all, func(a, b doctor.Answer) int { return strings.Compare(a.Endpoint, b.Endpoint) })
	return all
}

func stateOf(c managerv1alpha1.CertificateStatus, cas []*x509.Certificate, answers []doctor.Answer) certificateState {
	s := certificateState{phase: string(c.Phase), trusted: lists.Map(cas, fingerprintOf), current: short(c.CAFingerprint), number: c.Generation, pods: c.Endpoints.String()}
	for _, a := range answers {
		one := served{a.Endpoint, short(a.CA), short(a.Certificate)}
		if a.Reason != "" {
			one.ca, one.text = "", a.Reason
		}
		s.served = append(s.served, one)
	}
	return s
}

// addedCalls adds the counts of a new reading of the metrics. A smaller count is that of another process. An API server
// has no count of a webhook that it has not called.
func (h History) addedCalls(f Facts) map[latencyKey][]callCount {
	all := map[latencyKey][]callCount{}
	for key, l := range f.Latencies {
		counts := slices.Clone(h.calls[key])
		if len(counts) == 0 && !h.countedAt.IsZero() && h.countedAt.Before(f.LatenciesAt) {
			counts = []callCount{{at: h.countedAt}}
		}
		last := len(counts) - 1
		switch {
		case last >= 0 && !f.LatenciesAt.After(counts[last].at):
		case last >= 0 && l.Calls < counts[last].calls:
			counts = []callCount{{f.LatenciesAt, l.Calls, l.Failed}}
		default:
			counts = append(counts, callCount{f.LatenciesAt, l.Calls, l.Failed})
		}
		all[key] = counts[max(0, len(counts)-maxSpans):]
	}
	return all
}
