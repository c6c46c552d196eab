// Package status computes the status of the webhooks of a cluster, for a person or a program
// to read: webhooks of ClusterServiceVersions, and webhooks without an owner. It is pure.
package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/leader"
)

// Facts are the observed webhooks of a cluster, their ClusterServiceVersions, and the Leases of managers.
type Facts struct {
	doctor.Facts
	CSVs       []operatorsv1alpha1.ClusterServiceVersion
	Rollouts   []managerv1alpha1.WebhookRollout
	NoRollouts bool
	// Leases are those of managers; none where a manager needs none.
	Leases []coordinationv1.Lease
	// LeasesUnread is why Leases may not be listed; else empty.
	LeasesUnread string
	// RegistrationsUnread is why the user may not read the webhooks of the cluster; otherwise empty.
	RegistrationsUnread string
}

// Status is the answer to "which webhooks are live, and if not, why".
type Status struct {
	// Away are the Leases that no manager holds: what that manager reported last may be out of date.
	Away []leader.Away `json:"managersAway,omitempty"`
	// ManagerUnknown is why it is not known whether a manager runs; else empty.
	ManagerUnknown string `json:"managerUnknown,omitempty"`
	// NoLease is set if no manager has run, as far as Leases show.
	NoLease      bool      `json:"noManager,omitempty"`
	NotInstalled string    `json:"notInstalled,omitempty"`
	Webhooks     []Webhook `json:"webhooks"`
	// NotChecked is why the command did not check whether API servers call and reach them; otherwise empty.
	NotChecked string `json:"unseen,omitempty"`
	// Others are registrations that no ClusterServiceVersion stands behind.
	Others []Other `json:"others,omitempty"`
}

// Webhook is one that a ClusterServiceVersion declares.
type Webhook struct {
	Namespace  string `json:"namespace"`
	CSV        string `json:"csv"`
	Name       string `json:"name"`
	Type       string `json:"type"`
	State      string `json:"state"`
	Deployment string `json:"deployment"`
	// Registration is the configuration, or the definitions, by which API servers know it.
	Registration       string       `json:"registration,omitempty"`
	LastTransitionTime *metav1.Time `json:"lastTransitionTime,omitempty"`
	// Certificate is when the one that it serves ends, and CertificatePhase where it stands.
	Certificate      *metav1.Time `json:"certificateNotAfter,omitempty"`
	CertificatePhase string       `json:"certificatePhase,omitempty"`
	Provider         string       `json:"provider,omitempty"`
	// Propagation is how the last rotation found out that API servers trusted the certificate.
	Propagation *managerv1alpha1.CertificatePropagation `json:"propagation,omitempty"`
	// UnreachableFrom are the API servers whose calls fail. CallsUnknown is why that is not known of some of them.
	UnreachableFrom []managerv1alpha1.UnreachableFrom `json:"unreachableFrom,omitempty"`
	CallsUnknown    string                            `json:"callsUnknown,omitempty"`
	// Open is Partly or All while requests pass that the webhook does not answer; otherwise empty.
	Open string `json:"open,omitempty"`
	// Problem is that of the webhook, of its certificate, or a warning of the WebhookRollout.
	Reason  string `json:"reason,omitempty"`
	Problem string `json:"problem,omitempty"`
}

// Other is a registration that no ClusterServiceVersion owns.
type Other struct {
	Kind    string `json:"kind"`
	Object  string `json:"object"`
	Webhook string `json:"webhook,omitempty"`
	Calls   string `json:"calls"`
	// Owner is a ClusterServiceVersion that no longer exists.
	Owner  string `json:"owner,omitempty"`
	Policy string `json:"policy"`
	// Problem is why it cannot be called, or why that is not known; empty when it points to something that is ready.
	Problem string `json:"problem,omitempty"`
}

// Of returns the status of a namespace; "" is all of them, with registrations of no namespace.
func Of(f Facts, namespace string, now time.Time) Status {
	s := Status{Away: leader.AwayOf(f.Leases, now), ManagerUnknown: f.LeasesUnread, NoLease: noLease(f), NotInstalled: notInstalled(f), NotChecked: f.RegistrationsUnread, Webhooks: []Webhook{}}
	for _, r := range f.Rollouts {
		if namespace == "" || r.Namespace == namespace {
			s.Webhooks = append(s.Webhooks, webhooks(r, f, now)...)
		}
	}
	for _, csv := range f.CSVs {
		if namespace == "" || csv.Namespace == namespace {
			s.Webhooks = append(s.Webhooks, unreported(csv, s.Webhooks, f, now)...)
		}
	}
	slices.SortStableFunc(s.Webhooks, func(a, b Webhook) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.CSV, b.CSV))
	})
	if namespace == "" {
		s.Others = others(f.Facts, now)
	}
	return s
}

// noLease reports whether no manager holds, or held, a Lease in a cluster that has the manager's kinds.
func noLease(f Facts) bool {
	return len(f.Leases) == 0 && f.LeasesUnread == "" && !f.NoCSVs && !f.NoRollouts
}

func notInstalled(f Facts) string {
	switch {
	case f.NoCSVs:
		return "This cluster does not know the kind ClusterServiceVersion: no operator in it declares webhooks to this manager, or to an OLM."
	case f.NoRollouts:
		return "This cluster does not know the kind WebhookRollout: the manager is not installed, and webhooks are shown only by their registrations."
	default:
		return ""
	}
}

// webhooks reads registrations and endpoints now, and does not take their state from the WebhookRollout.
func webhooks(r managerv1alpha1.WebhookRollout, f Facts, now time.Time) []Webhook {
	var all []Webhook
	for _, d := range r.Status.Deployments {
		for _, w := range d.Registrations() {
			one := Webhook{
				Namespace: r.Namespace, CSV: r.Name, Deployment: d.Name,
				Name: w.GenerateName, Type: typeOf(w.Type), State: string(w.State), LastTransitionTime: w.LastTransitionTime,
				Registration: cmp.Or(w.Configuration, strings.Join(w.CRDs, ",")),
			}
			switch {
			case w.State != managerv1alpha1.WebhookRegistered:
				one.Reason, one.Problem = w.Reason, w.Message
			case f.RegistrationsUnread == "":
				one.check(registrations(w, f.Facts), f.Facts, now)
			}
			one.addOpening(w.FailOpen)
			one.addCalls(w, r.Status.Conditions)
			if c := d.Certificate; c != nil {
				one.Certificate, one.CertificatePhase, one.Provider = c.NotAfter, string(c.Phase), string(c.Provider)
				one.Propagation = c.Propagation
				one.setProblem("Certificate"+string(c.Phase), c.Message)
			}
			for _, kind := range []string{managerv1alpha1.ConditionContested, managerv1alpha1.ConditionUnregistrationRefused, managerv1alpha1.ConditionInstallerForbidden, managerv1alpha1.ConditionConversionInUse, managerv1alpha1.ConditionBlocksInstallPlan, managerv1alpha1.ConditionVersionsHeld, managerv1alpha1.ConditionOrderRelaxed} {
				if c := meta.FindStatusCondition(r.Status.Conditions, kind); c != nil && c.Status == metav1.ConditionTrue {
					one.setProblem(c.Reason, c.Message)
				}
			}
			all = append(all, one)
		}
	}
	return all
}

// addOpening reports which requests pass that the webhook does not answer, before everything else.
func (w *Webhook) addOpening(f *managerv1alpha1.FailOpen) {
	if !f.IsOpen() {
		return
	}
	opening := f.Openings[len(f.Openings)-1]
	passing := "requests of nodes and about objects in its namespace pass"
	if f.State == managerv1alpha1.FailOpenAll {
		passing = "requests pass"
	}
	text := fmt.Sprintf("it is open since %s: %s that it does not answer", opening.From.UTC().Format(time.RFC3339), passing)
	if opening.Until != nil {
		text += fmt.Sprintf(", until %s at the latest", opening.Until.UTC().Format(time.RFC3339))
	}
	w.Open, w.Problem = string(f.State), strings.TrimSuffix(text+"; "+w.Problem, "; ")
	w.Reason = cmp.Or(w.Reason, managerv1alpha1.EventWebhookOpened)
}

// addCalls reports from which API servers calls fail.
func (w *Webhook) addCalls(reported managerv1alpha1.WebhookStatus, conditions []metav1.Condition) {
	w.UnreachableFrom = reported.UnreachableFrom
	for _, from := range w.UnreachableFrom {
		w.setProblem(managerv1alpha1.ConditionCallsFail, fmt.Sprintf("calls from API server %s fail since %s: %s", from.APIServer, from.StartTime.UTC().Format(time.RFC3339), from.Error))
	}
	if c := meta.FindStatusCondition(conditions, managerv1alpha1.ConditionCallsFail); c != nil && c.Status == metav1.ConditionUnknown {
		w.CallsUnknown = c.Message
	}
}

func (w *Webhook) setProblem(reason, message string) {
	if w.Problem == "" && message != "" {
		w.Reason, w.Problem = reason, message
	}
}

func typeOf(t operatorsv1alpha1.WebhookAdmissionType) string {
	return strings.TrimSuffix(strings.TrimSuffix(string(t), "AdmissionWebhook"), "Webhook")
}

func others(f doctor.Facts, now time.Time) []Other {
	var all []Other
	for _, w := range f.Webhooks {
		if w.Owner.Name != "" && f.Owners[w.Owner] {
			continue
		}
		_, doubt := doctor.Doubt(w, f)
		problem := cmp.Or(doctor.ReachOf(w, f, now).Message, doubt)
		if w.Kind == doctor.APIService && (problem == "" || problem == doubt && w.Available == metav1.ConditionTrue) {
			continue // aggregated by another client, and works
		}
		// A definition has no owner label: the Service of its conversion webhook identifies the owner.
		if w.Kind == doctor.Conversion && f.Owners[f.Services[w.Service].Owner] {
			continue
		}
		one := Other{Kind: w.Kind, Object: w.Object, Webhook: w.Name, Calls: cmp.Or(w.URL, w.Service.String()), Policy: "Ignore", Problem: problem}
		if w.Fails {
			one.Policy = "Fail"
		}
		if w.Owner.Name != "" {
			one.Owner = w.Owner.String()
		}
		if one.Owner != "" && one.Problem == "" {
			one.Problem = "left behind by ClusterServiceVersion " + one.Owner + ", which no longer exists"
		}
		all = append(all, one)
	}
	return all
}

// Names are those of the WebhookRollouts, as kubectl -o name has them.
func (s Status) Names() []string {
	csvs := lists.Unique(s.Webhooks, func(w Webhook) string { return w.CSV })
	return lists.Map(csvs, func(w Webhook) string { return "webhookrollout.olm-webhook-manager.io/" + w.CSV })
}

// Same reports whether nothing has changed.
func (s Status) Same(as Status) bool { return equality.Semantic.DeepEqual(s, as) }
