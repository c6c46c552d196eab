package page

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/page/chart"
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
	// Calls are the Services or URLs that API servers call.
	Calls []string
	// Intercepted are the resources of its rules. More is how many others there are.
	Intercepted []Intercepted
	More        int
	Latency     *Latency
	Findings    []doctor.Finding

	Stages       []Stage
	Certificate  *managerv1alpha1.CertificateStatus
	Rollout      chart.Chart
	Certificates chart.Chart
	Rotation     chart.Chart
	Events       []Event

	called latencyKey // as metrics name it; empty if they do not
}

// Hidden is how many resources are not in its row of the table.
func (w Webhook) Hidden() int { return max(0, len(w.Intercepted)-MaxInRow) + w.More }

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

// MaxInRow is how many resources a row of the table names.
const MaxInRow = 3

const (
	policyFail     = "Fail"
	policyIgnore   = "Ignore"
	conversionType = "Conversion"
)

// registered is the type of a webhook and the name of the object that registers it.
type registered struct{ kind, object string }

// index finds the facts of one webhook.
type index struct {
	Facts

	history       History
	redaction     redaction
	now           time.Time
	registrations map[registered][]doctor.Webhook
	findings      map[string][]doctor.Finding // by the String of the registration
	csvs          map[types.NamespacedName]*operatorsv1alpha1.ClusterServiceVersion
	rollouts      map[types.NamespacedName]*managerv1alpha1.WebhookRollout
	deployments   map[types.NamespacedName]*appsv1.Deployment
	events        map[types.NamespacedName][]corev1.Event
}

func newIndex(f Facts, findings []doctor.Finding, history History, redaction redaction, now time.Time) *index {
	x := &index{
		Facts: f, history: history, redaction: redaction, now: now,
		registrations: map[registered][]doctor.Webhook{}, findings: map[string][]doctor.Finding{},
		csvs:        map[types.NamespacedName]*operatorsv1alpha1.ClusterServiceVersion{},
		rollouts:    map[types.NamespacedName]*managerv1alpha1.WebhookRollout{},
		deployments: map[types.NamespacedName]*appsv1.Deployment{},
		events:      map[types.NamespacedName][]corev1.Event{},
	}
	for _, w := range f.Webhooks {
		key := registered{typeOf(w), w.Object}
		x.registrations[key] = append(x.registrations[key], w)
	}
	for _, finding := range findings {
		for _, webhook := range finding.Webhooks {
			x.findings[webhook] = append(x.findings[webhook], finding)
		}
	}
	for i, csv := range f.CSVs {
		x.csvs[types.NamespacedName{Namespace: csv.Namespace, Name: csv.Name}] = &f.CSVs[i]
	}
	for i, r := range f.Rollouts {
		x.rollouts[types.NamespacedName{Namespace: r.Namespace, Name: r.Name}] = &f.Rollouts[i]
	}
	for i, d := range f.Deployments {
		x.deployments[types.NamespacedName{Namespace: d.Namespace, Name: d.Name}] = &f.Deployments[i]
	}
	for _, e := range f.Events {
		key := types.NamespacedName{Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name}
		x.events[key] = append(x.events[key], redaction.event(e))
	}
	return x
}

// webhooks returns the declared webhooks, and then those of other owners, and their IDs by registration.
func (x *index) webhooks(s status.Status) (all []Webhook, ids map[string]string) {
	ids = map[string]string{} // by the String of the registration
	for _, w := range s.Webhooks {
		live := x.registrationsOf(w)
		all = append(all, x.declared(w, live))
		for _, r := range live {
			ids[r.String()] = all[len(all)-1].ID
		}
	}
	if x.Namespace != "" {
		return all, ids
	}
	for _, r := range x.Webhooks {
		if _, declared := ids[r.String()]; !declared {
			all = append(all, x.undeclared(r))
			ids[r.String()] = all[len(all)-1].ID
		}
	}
	return all, ids
}

func (x *index) declared(of status.Webhook, live []doctor.Webhook) Webhook {
	w := Webhook{
		ID: idOf(of.Namespace, of.CSV, of.Type, of.Name), Name: of.Name, Type: of.Type,
		Namespace: of.Namespace, CSV: of.CSV, Deployment: of.Deployment, State: of.State, Reason: of.Reason, Problem: of.Problem,
	}
	x.addRegistrations(&w, live)
	x.addStatus(&w, live)
	w.Problem = x.redaction.text(w.Problem)
	for i := range w.Stages {
		w.Stages[i].Message = x.redaction.text(w.Stages[i].Message)
	}
	w.Health = w.byState()
	if len(live) > 0 {
		w.Health = worst(w.Health, byFindings(w.Findings), x.byAnswers(live))
	}
	return w
}

func (x *index) undeclared(r doctor.Webhook) Webhook {
	w := Webhook{ID: idOf(r.String()), Name: cmp.Or(r.Name, r.Object), Type: typeOf(r), Namespace: r.Owner.Namespace, CSV: r.Owner.Name}
	x.addRegistrations(&w, []doctor.Webhook{r})
	live := []doctor.Webhook{r}
	w.Certificates = validity(live, nil, answersOf(live, x.Facts), x.colorsOf(w, live), x.now)
	w.Health = worst(byFindings(w.Findings), x.byAnswers(live))
	return w
}

// byAnswers is Unknown until the endpoints were dialled.
func (x *index) byAnswers(live []doctor.Webhook) Health {
	if slices.ContainsFunc(live, func(r doctor.Webhook) bool { return isDialledNext(x.Facts, r.String()) }) {
		return Unknown
	}
	return Healthy
}

func typeOf(w doctor.Webhook) string {
	if w.Kind == doctor.Conversion {
		return conversionType
	}
	return strings.TrimSuffix(w.Kind, "WebhookConfiguration")
}

// registrationsOf returns the live registrations of a declared webhook. The status of a conversion names its
// definitions also while another owner converts them.
func (x *index) registrationsOf(w status.Webhook) (all []doctor.Webhook) {
	called := []string{string(managerv1alpha1.WebhookRegistered), string(managerv1alpha1.WebhookUnreachable), "Unknown"}
	for _, name := range strings.Split(w.Registration, ",") {
		for _, r := range x.registrations[registered{w.Type, name}] {
			if w.Type != conversionType || r.Service.Namespace == w.Namespace && (slices.Contains(called, w.State) || w.Reason == "NotRegistered") {
				all = append(all, r)
			}
		}
	}
	return all
}

func (x *index) addRegistrations(w *Webhook, live []doctor.Webhook) {
	for _, r := range live {
		w.Registrations = append(w.Registrations, r.Kind+" "+r.Object)
		w.Policy = policyIgnore
		if r.Fails {
			w.Policy = policyFail
		}
		if called := cmp.Or(r.URL, r.Service.String()); !slices.Contains(w.Calls, called) {
			w.Calls = append(w.Calls, called)
		}
		shown, more := intercepted(r)
		w.Intercepted, w.More = append(w.Intercepted, shown...), w.More+more
		key := latencyKey{r.Name, latencyType(r)}
		if latency, known := x.Latencies[key]; known && r.Name != "" {
			w.Latency, w.called = &latency, key
		}
		w.Findings = append(w.Findings, x.findings[r.String()]...)
	}
}

// idOf returns an ID that any address can contain as it is.
func idOf(parts ...string) string {
	digest := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return "webhook-" + hex.EncodeToString(digest[:8])
}
