package lint

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// webhookChecks are about the descriptions by themselves: what no API server would
// register, and what works for some callers only.
var webhookChecks = []Check{
	{
		Code: "repeated-webhook-name", Level: Error, Basis: Refused,
		Explain: `A generateName is what a webhook is known by, among all webhooks of the ClusterServiceVersion, of any type: with two of one name the manager, like
OLM v0, sets it to Failed/InvalidWebhookDescription and installs nothing. Give each its own.`,
		find: violationsOf(requirements.RepeatedName, "generateName"),
	},
	{
		Code: "webhook-name", Level: Error, Basis: Rejected,
		Explain: `generateName becomes the name of the webhook in its registration, and the API server takes only domain names of at least three parts there
(pods.example.com). With any other the registration is refused, the webhook stays Blocked, and the ClusterServiceVersion fails with InstallComponentFailed.`,
		find: eachWebhook((*subject).admission, func(w webhook) (string, string, string) {
			if strings.Count(w.GenerateName, ".") >= 2 && len(validation.IsDNS1123Subdomain(w.GenerateName)) == 0 {
				return "", "", ""
			}
			return "generateName", fmt.Sprintf("the API server refuses to register a webhook named %q: it has to be a domain name of at least three parts", w.GenerateName),
				"write a name such as pods.example.com"
		}),
	},
	{
		Code: "side-effects", Level: Error, Basis: Rejected,
		Explain: `A webhook with side effects that it does not leave out on a dry run makes kubectl --dry-run=server, and every tool that compares before it writes, fail for
all that it intercepts. admissionregistration.k8s.io/v1 therefore takes only None and NoneOnDryRun, and refuses the registration otherwise. If the webhook writes
anything besides its answer, let it look at request.dryRun and say NoneOnDryRun.`,
		find: eachWebhook((*subject).admission, func(w webhook) (string, string, string) {
			if w.SideEffects != nil && (*w.SideEffects == admissionregistrationv1.SideEffectClassNone || *w.SideEffects == admissionregistrationv1.SideEffectClassNoneOnDryRun) {
				return "", "", ""
			}
			return "sideEffects", fmt.Sprintf("the API server refuses to register a webhook with sideEffects %s: dry runs could not be answered", shown(w.SideEffects)),
				"write None, or NoneOnDryRun and look at request.dryRun"
		}),
	},
	{
		Code: "review-version-unknown", Level: Error, Basis: Rejected,
		Explain: `admissionReviewVersions are the versions of AdmissionReview that the webhook understands, in its order of preference. The API server speaks v1, and still
v1beta1; with none of these it refuses the registration.`,
		find: eachWebhook((*subject).webhooks, func(w webhook) (string, string, string) {
			if slices.Contains(w.AdmissionReviewVersions, "v1") || slices.Contains(w.AdmissionReviewVersions, "v1beta1") {
				return "", "", ""
			}
			return "admissionReviewVersions", fmt.Sprintf("the API server refuses the webhook: it speaks none of its versions %v", w.AdmissionReviewVersions), "add v1, and let the server answer with the version that it was asked in"
		}),
	},
	{
		Code: "review-version-old", Level: Warning, Basis: Policy,
		Explain: `The webhook understands v1beta1 of AdmissionReview alone. It works with the API servers there are, which still speak it; v1 has been there since Kubernetes 1.16,
and a later version may know nothing else. A server that understands v1 answers with the apiVersion of the request, and with its uid.`,
		find: eachWebhook((*subject).webhooks, func(w webhook) (string, string, string) {
			if slices.Contains(w.AdmissionReviewVersions, "v1") || !slices.Contains(w.AdmissionReviewVersions, "v1beta1") {
				return "", "", ""
			}
			return "admissionReviewVersions", "the webhook stops working with the first API server that speaks v1 alone", "let the server understand v1, and add it"
		}),
	},
	{
		Code: "timeout-range", Level: Error, Basis: Rejected,
		Explain: `The API server waits for a webhook for 1 to 30 seconds, 10 by default, and refuses to register one with any other timeout.`,
		find: eachWebhook((*subject).admission, func(w webhook) (string, string, string) {
			if w.TimeoutSeconds == nil || *w.TimeoutSeconds >= 1 && *w.TimeoutSeconds <= 30 {
				return "", "", ""
			}
			return "timeoutSeconds", fmt.Sprintf("the API server refuses to register a webhook with a timeout of %d s", *w.TimeoutSeconds), "write a number from 1 to 30"
		}),
	},
	{
		Code: "long-timeout", Level: Warning, Basis: Policy,
		Explain: `While no server answers, every request that the webhook intercepts waits until the timeout: with Fail it then fails, with Ignore it is merely late. Mutating
webhooks are called one after another, so their timeouts add up, and clients give up after 30 to 60 s. A webhook that looks at one object answers within milliseconds;
what it has to fetch, it should keep in a cache. Ten seconds are the default, five are plenty.`,
		find: eachWebhook((*subject).admission, func(w webhook) (string, string, string) {
			if w.TimeoutSeconds == nil || *w.TimeoutSeconds <= 10 || *w.TimeoutSeconds > 30 {
				return "", "", ""
			}
			return "timeoutSeconds", fmt.Sprintf("while the webhook does not answer, every request that it intercepts takes %d s longer", *w.TimeoutSeconds), "write 10 or less"
		}),
	},
	{
		Code: "webhook-path", Level: Error, Basis: Rejected,
		Explain: `The API server refuses a registration whose path does not begin with a slash, or has empty or invalid steps: it is a path below the Service, without
host, and without question mark.`,
		find: eachWebhook((*subject).webhooks, func(w webhook) (string, string, string) {
			if w.WebhookPath == nil || validPath(*w.WebhookPath) {
				return "", "", ""
			}
			return "webhookPath", fmt.Sprintf("the API server refuses the path %q", *w.WebhookPath), "begin it with a slash, and separate names by one slash each"
		}),
	},
	{
		Code: "object-selector", Level: Error, Basis: Rejected,
		Explain: `The objectSelector is not valid: an operator that does not exist, values where none belong or the other way round, a key that is no label. The API server
refuses the registration.`,
		find: eachWebhook((*subject).admission, func(w webhook) (string, string, string) {
			if _, err := metav1.LabelSelectorAsSelector(w.ObjectSelector); err != nil {
				return "objectSelector", "the API server refuses to register the webhook: " + err.Error(), "correct the selector"
			}
			return "", "", ""
		}),
	},
	{
		Code: "match-conditions", Level: Error, Basis: Refused,
		Explain: `A description has no matchConditions; the annotation olm-webhook-manager.io/match-conditions of the ClusterServiceVersion adds them. It cannot be read, or names a
webhook that there is not, or a condition twice: the ClusterServiceVersion is Failed/InvalidWebhookDescription.`,
		find: matchConditions,
	},
	{
		Code: "match-condition-invalid", Level: Error, Basis: Rejected,
		Explain: `A condition that the annotation olm-webhook-manager.io/match-conditions adds is an expression in CEL, which says true or false of request, object, oldObject,
namespaceObject and authorizer. When it does not compile, when its name could not be a label's, or when a webhook has more than 64, the API server refuses the registration: the
webhook stays Blocked, and the ClusterServiceVersion fails with InstallComponentFailed. The compiler is the API server's own, of the version that this program is built with: a
cluster that is older may refuse more, and one that is newer less.`,
		find: invalidConditions,
	},
	{
		Code: "webhook-value", Level: Error, Basis: Rejected,
		Explain: `failurePolicy is Fail or Ignore, matchPolicy Exact or Equivalent, reinvocationPolicy Never or IfNeeded, with that spelling. The definition of
ClusterServiceVersions takes any text there; the API server refuses the registration.`,
		find: unknownValues,
	},
}

func shown[T ~string](value *T) string {
	if value == nil {
		return "left out"
	}
	return string(*value)
}

// validPath is what the API server takes for the path of a Service: steps that are
// subdomains, and perhaps a slash at the end.
func validPath(path string) bool {
	rest, absolute := strings.CutPrefix(path, "/")
	if !absolute {
		return false
	}
	if rest == "" {
		return true
	}
	for step := range strings.SplitSeq(strings.TrimSuffix(rest, "/"), "/") {
		if len(validation.IsDNS1123Subdomain(step)) > 0 {
			return false
		}
	}
	return true
}

func unknownValues(s *subject) []mistake {
	var all []mistake
	check := func(w webhook, field, value string, known ...string) {
		if value != "left out" && !slices.Contains(known, value) {
			all = append(all, s.inCSV(w.path+"."+field, fmt.Sprintf("the API server refuses to register a webhook with %s %q", field, value), "write "+strings.Join(known, " or ")))
		}
	}
	for _, w := range s.admission() {
		check(w, "failurePolicy", shown(w.FailurePolicy), string(admissionregistrationv1.Fail), string(admissionregistrationv1.Ignore))
		check(w, "matchPolicy", shown(w.MatchPolicy), string(admissionregistrationv1.Exact), string(admissionregistrationv1.Equivalent))
		if w.Type == operatorsv1alpha1.MutatingAdmissionWebhook {
			check(w, "reinvocationPolicy", shown(w.ReinvocationPolicy), string(admissionregistrationv1.NeverReinvocationPolicy), string(admissionregistrationv1.IfNeededReinvocationPolicy))
		}
	}
	return all
}
