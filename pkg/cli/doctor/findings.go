// Package doctor finds webhooks, of any owner, that block requests now, or will block them when pods are lost.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// expiryWarning is short: every tool that renews certificates does so earlier.
const expiryWarning = 3 * 24 * time.Hour

// Diagnose finds what is wrong with the webhooks of a cluster, worst first.
func Diagnose(f Facts, now time.Time) []Finding {
	broken := map[int]bool{}
	var findings []Finding
	for i, w := range f.Webhooks {
		reach := ReachOf(w, f, now)
		broken[i] = reach.Broken()
		findings = append(findings, webhookFindings(w, reach, f, now)...)
	}
	findings = append(findings, controlPlane(f, broken)...)
	findings = append(findings, deadlocks(f, broken)...)
	slices.SortStableFunc(findings, func(a, b Finding) int { return cmp.Compare(severity(a.Level), severity(b.Level)) })
	return findings
}

func severity(l Level) int { return slices.Index([]Level{Error, Warning, Unknown}, l) }

func webhookFindings(w Webhook, reach Reach, f Facts, now time.Time) []Finding {
	if open := openFinding(w); open != nil {
		return append(open, closedFindings(w, reach, f, now)...)
	}
	return closedFindings(w, reach, f, now)
}

// openFinding reports an opening once for each configuration.
func openFinding(w Webhook) []Finding {
	if w.Open == "" || w.Fails {
		return nil
	}
	unanswered := "some of the requests that it intercepts pass although it does not answer them"
	if w.Open == string(managerv1alpha1.FailOpenAll) {
		unanswered = "requests pass although it does not answer them"
	}
	return []Finding{{Warning, WebhookOpen, []string{w.String()}, "it is open, as annotations of the Subscription allow: " + unanswered,
		"repair its pods; then list the objects that were admitted: kubectl webhooks audit"}}
}

func closedFindings(w Webhook, reach Reach, f Facts, now time.Time) []Finding {
	about := []string{w.String()}
	if reach.Broken() && reach.Code != APIServiceUnavailable {
		finding := Finding{levelOf(w, f), reach.Code, about, reach.Message + ": " + consequenceIn(w, f), reach.Remedy}
		return slices.Concat([]Finding{finding}, ownerMissing(w, f), unread(w, f))
	}
	if w.Idle() {
		return ownerMissing(w, f)
	}
	var findings []Finding
	if reach.Broken() {
		findings = append(findings, Finding{Error, reach.Code, about, fmt.Sprintf("%s; then %s", reach.Message, consequence(w)), reach.Remedy})
	}
	for _, d := range doubts(w, f) {
		findings = append(findings, Finding{Unknown, d.code, about, d.finding + consequence(w), d.remedy})
	}
	if _, outside := outsideOf(w, f); !outside {
		findings = slices.Concat(findings, notAsked(w, f), endpointFindings(w, f, now))
	}
	return slices.Concat(findings, ownerMissing(w, f), unread(w, f))
}

func notAsked(w Webhook, f Facts) []Finding {
	asked, ready := Asked(Facts{Webhooks: []Webhook{w}, Services: f.Services, Answers: f.Answers})
	if asked == ready && asked > 0 {
		return nil
	}
	return []Finding{{Unknown, NotAsked, []string{w.String()},
		fmt.Sprintf("%d of %d ready endpoints of Service %s were asked which certificate they serve, and of the others it is not known%s", asked, ready, w.Service, cause(f.Answers[w.String()])),
		"allow create on pods/portforward; or run doctor with --direct where the addresses of the endpoints can be dialled"}}
}

func cause(all []Answer) string {
	for _, a := range all {
		if !a.Asked && a.Message != "" {
			return fmt.Sprintf(": %s: %s", a.Endpoint, a.Message)
		}
	}
	return ""
}

func endpointFindings(w Webhook, f Facts, now time.Time) []Finding {
	about := []string{w.String()}
	all := slices.DeleteFunc(slices.Clone(f.Answers[w.String()]), func(a Answer) bool { return !a.Asked })
	var findings []Finding
	if bad := failed(all); len(bad) > 0 {
		findings = append(findings, Finding{levelOf(w, f), SomePodsFail, about,
			fmt.Sprintf("%d of %d endpoints that were asked cannot be called: %s; when one of them is called, %s", len(bad), len(all), bad[0].Message, consequenceIn(w, f)), "fix those pods, or delete them"})
	}
	endsSoon := func(a Answer) bool { return !a.NotAfter.IsZero() && a.NotAfter.Sub(now) < expiryWarning }
	if i := slices.IndexFunc(all, endsSoon); i >= 0 {
		findings = append(findings, Finding{Warning, CertificateExpiresSoon, about,
			fmt.Sprintf("the served certificate expires on %s: then %s", all[i].NotAfter.UTC().Format(time.RFC3339), consequence(w)), "renew it with the tool that issued it"})
	}
	return findings
}

func ownerMissing(w Webhook, f Facts) []Finding {
	if w.Owner.Name == "" || f.Owners[w.Owner] {
		return nil
	}
	return []Finding{{Warning, OwnerMissing, []string{w.String()},
		fmt.Sprintf("its labels name ClusterServiceVersion %s, which does not exist: no manager maintains the webhook", w.Owner),
		fmt.Sprintf("kubectl delete %s %s", strings.ToLower(w.Kind), w.Object)}}
}

func unread(w Webhook, f Facts) []Finding {
	s := f.Services[w.Service]
	message := ""
	switch {
	case !w.Fails || len(s.Unread) == 0:
	case s.PodsUnread() && s.Ready == 0:
		message = fmt.Sprintf("the pods behind Service %s cannot be read: whether one of them can become ready was not checked", w.Service)
	case !s.podsUnknown():
	case s.PodsUnread():
		message = fmt.Sprintf("the pods behind Service %s, and the objects that create them, cannot be read: whether new pods can start was judged by the Service's selector alone", w.Service)
	default:
		message = fmt.Sprintf("no pod stays behind Service %s, and the objects that create them cannot be read: whether new pods can start was judged by the Service's selector alone", w.Service)
	}
	if message == "" {
		return nil
	}
	return []Finding{{Unknown, WorkloadsUnread, []string{w.String()}, message,
		fmt.Sprintf("allow the user of doctor to list %s in namespace %s", strings.Join(s.Unread, ", "), w.Service.Namespace)}}
}

func levelOf(w Webhook, f Facts) Level {
	if w.Fails && !w.Idle() && !coversNothing(w, f) {
		return Error
	}
	return Warning
}

// coversNothing reports whether a webhook is only for objects in namespaces, and its selector selects none.
func coversNothing(w Webhook, f Facts) bool {
	wider := func(r admissionregistrationv1.RuleWithOperations) bool {
		return r.Scope == nil || *r.Scope != admissionregistrationv1.NamespacedScope
	}
	if w.NamespaceSelector == nil || slices.ContainsFunc(w.Rules, wider) {
		return false
	}
	for _, namespace := range f.Namespaces {
		if selects(w.NamespaceSelector, allLabels(namespace)) != no {
			return false
		}
	}
	return true
}

func consequenceIn(w Webhook, f Facts) string {
	if coversNothing(w, f) {
		return "nothing fails while its namespaceSelector selects no namespace"
	}
	return consequence(w)
}

func consequence(w Webhook) string {
	switch {
	case w.Kind == Conversion && w.Idle():
		return "nothing fails while the definition has one version only"
	case w.Idle():
		return "nothing fails, because it has no rules"
	case w.Kind == APIService:
		return fmt.Sprintf("requests for %s fail, and so do clients that need all kinds, such as the deletion of namespaces", w.Object)
	case w.Kind == Conversion:
		return fmt.Sprintf("reads and writes of %s fail unless they are of the stored version", w.Object)
	case w.Fails:
		return "the API server refuses " + intercepts(w)
	default:
		return "failurePolicy is Ignore, so these requests are not reviewed: " + intercepts(w)
	}
}

func namesOf(f Facts, at []int) []string {
	all := lists.Map(at, func(i int) string { return f.Webhooks[i].String() })
	slices.Sort(all)
	return all
}

// Level reports how bad a finding is.
type Level string

const (
	// Error means that requests fail now, all or some of them.
	Error Level = "Error"
	// Warning means that requests are not checked, or that some fail when something else happens.
	Warning Level = "Warning"
	// Unknown means that the state could not be read.
	Unknown Level = "Unknown"
)

// The codes of findings, in addition to those of a Reach and of a probe.
const (
	// OwnerMissing means that the labels of a webhook name a ClusterServiceVersion that does not exist.
	OwnerMissing = "OwnerGone"
	// WebhookOpen means that the manager lets requests pass that a webhook does not answer.
	WebhookOpen = "WebhookOpen"
	// CertificateExpiresSoon means that a served certificate expires within three days.
	CertificateExpiresSoon = "CertificateEndsSoon"
	// SomePodsFail means that some endpoints cannot be called. With failurePolicy Ignore it is a Warning.
	SomePodsFail = "SomePodsFail"
	// NotAsked means that it is not known what some or all ready endpoints serve.
	NotAsked = "NotAsked"
	// APIServiceUnavailable means that API servers do not report an APIService as available.
	APIServiceUnavailable = "APIServiceUnavailable"
	// HeadlessService means that only API servers with --enable-aggregator-routing call the Service.
	HeadlessService = "HeadlessService"
	// NodeLocalService means that API servers call the Service only on nodes with an endpoint of it.
	NodeLocalService = "NodeLocalService"
	// WorkloadsUnread means that the objects that would create pods again could not be listed.
	WorkloadsUnread = "WorkloadsUnread"
	// Deadlock means that no endpoint is called, and that the webhooks intercept what their pods need.
	Deadlock = "Deadlock"
	// PossibleDeadlock means the same if all pods are lost, or if conditions apply that doctor ignores.
	PossibleDeadlock = "PossibleDeadlock"
	// ControlPlaneBlocked means that a webhook that cannot be called intercepts Leases or Nodes.
	ControlPlaneBlocked = "ControlPlaneBlocked"
	// ControlPlaneDepends means that a webhook intercepts Leases or Nodes.
	ControlPlaneDepends = "ControlPlaneDepends"
)

// Finding is something that a person should know of the webhooks of a cluster.
type Finding struct {
	Level    Level    `json:"level"`
	Code     string   `json:"code"`
	Webhooks []string `json:"webhooks"`
	Message  string   `json:"message"`
	Remedy   string   `json:"remedy"`
}
