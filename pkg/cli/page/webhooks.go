package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/status"
)

// Webhook is one webhook of a ClusterServiceVersion, or one registration of another owner.
type Webhook struct {
	// ID is the same for the webhook in each page, and for no other.
	ID   string
	Name string
	// Type is Validating, Mutating, Conversion or APIService.
	Type string
	// Namespace and CSV are those of the ClusterServiceVersion; empty for another owner.
	Namespace, CSV string
	Deployment     string
	Health         Health
	// State is that of the WebhookRollout, as status shows it; empty for another owner.
	State string
	// Reason and Problem are why it is not Registered, or what is wrong otherwise.
	Reason, Problem string
	// Policy is the failurePolicy, or what happens otherwise when a call fails.
	Policy string
	// Registrations are the objects by which API servers know it.
	Registrations []string
	// Calls is the Service or the URL that API servers call.
	Calls string
	// Intercepted are the resources of its rules. More is how many others there are.
	Intercepted []Intercepted
	More        int
	Latency     *Latency
	Findings    []doctor.Finding

	Stages       []Stage
	Certificate  *managerv1alpha1.CertificateStatus
	Certificates Chart
	Rotation     Chart
	Events       []Event
}

// Fails reports whether a request fails when the call does.
func (w Webhook) Fails() bool { return w.Policy != policyIgnore }

// Owner is the ClusterServiceVersion, or empty.
func (w Webhook) Owner() string { return strings.TrimPrefix(w.Namespace+"/"+w.CSV, "/") }

// Expires is when the certificate that pods serve expires.
func (w Webhook) Expires() *time.Time {
	if w.Certificate == nil || w.Certificate.NotAfter == nil {
		return nil
	}
	return &w.Certificate.NotAfter.Time
}

const (
	policyFail   = "Fail"
	policyIgnore = "Ignore"
)

// webhooks returns the declared webhooks, and then those of other owners.
func webhooks(f Facts, s status.Status, findings []doctor.Finding, history History, now time.Time) []Webhook {
	var all []Webhook
	declared := map[string]bool{} // registrations, by String
	for _, w := range s.Webhooks {
		live := registrationsOf(w, f)
		for _, r := range live {
			declared[r.String()] = true
		}
		one := Webhook{
			ID: idOf(w.Namespace, w.CSV, w.Type, w.Name), Name: w.Name, Type: w.Type,
			Namespace: w.Namespace, CSV: w.CSV, Deployment: w.Deployment, State: w.State, Reason: w.Reason, Problem: w.Problem,
		}
		one.add(live, findings, f.Latencies)
		one.addStatus(f, live, history, now)
		one.Health = healthOf(one)
		all = append(all, one)
	}
	for _, r := range f.Webhooks {
		if declared[r.String()] || f.Namespace != "" {
			continue
		}
		one := Webhook{ID: idOf(r.String()), Name: cmp.Or(r.Name, r.Object), Type: typeOf(r)}
		one.add([]doctor.Webhook{r}, findings, f.Latencies)
		one.Certificates = validityChart([]doctor.Webhook{r}, nil, now)
		one.Health = worst(one.Findings)
		all = append(all, one)
	}
	return all
}

func typeOf(w doctor.Webhook) string {
	if w.Kind == doctor.Conversion {
		return "Conversion"
	}
	return strings.TrimSuffix(w.Kind, "WebhookConfiguration")
}

// registrationsOf returns the live registrations of a declared webhook.
func registrationsOf(w status.Webhook, f Facts) []doctor.Webhook {
	names := strings.Split(w.Registration, ",")
	return lists.Filter(f.Webhooks, func(r doctor.Webhook) bool { return typeOf(r) == w.Type && slices.Contains(names, r.Object) })
}

// add adds what registrations show.
func (w *Webhook) add(live []doctor.Webhook, findings []doctor.Finding, latencies Latencies) {
	for _, r := range live {
		w.Registrations = append(w.Registrations, r.Kind+" "+r.Object)
		w.Policy = policyIgnore
		if r.Fails {
			w.Policy = policyFail
		}
		w.Calls = cmp.Or(r.URL, r.Service.String())
		shown, more := intercepted(r)
		w.Intercepted, w.More = append(w.Intercepted, shown...), w.More+more
		if latency, known := latencies[latencyKey{r.Name, latencyType(r)}]; known && r.Name != "" {
			w.Latency = &latency
		}
	}
	w.Findings = lists.Filter(findings, func(finding doctor.Finding) bool {
		return slices.ContainsFunc(live, func(r doctor.Webhook) bool { return slices.Contains(finding.Webhooks, r.String()) })
	})
}

// idOf returns an ID that any address can contain as it is.
func idOf(parts ...string) string {
	digest := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "webhook-" + hex.EncodeToString(digest[:8])
}

// withoutPaths omits the paths of URLs: they can contain tokens.
func withoutPaths(webhooks []doctor.Webhook) []doctor.Webhook {
	return lists.Map(webhooks, func(w doctor.Webhook) doctor.Webhook {
		if w.URL == "" {
			return w
		}
		u, err := url.Parse(w.URL)
		if w.URL = "that cannot be read"; err == nil {
			w.URL = "https://" + u.Host
		}
		return w
	})
}
