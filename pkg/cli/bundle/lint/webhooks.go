package lint

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
)

var webhookChecks = []Check{
	{
		Code: "repeated-webhook-name", Level: Error, Basis: Refused,
		Explain: `generateName identifies a webhook among all webhooks of the
ClusterServiceVersion, of every type. If two webhooks have the same name, this manager and OLM v0
set the ClusterServiceVersion to Failed/InvalidWebhookDescription and install nothing. Give each
webhook its own name.`,
		find: violationsOf(requirements.RepeatedName, "spec.webhookdefinitions[%d].generateName"),
	},
	{
		Code: "webhook-name", Level: Error, Basis: Rejected,
		Explain: `generateName becomes the name of the webhook in its registration. The API
server accepts only domain names of at least three parts there (pods.example.com). It refuses any
other name. The webhook then stays Blocked, and the ClusterServiceVersion fails with
InstallComponentFailed.`,
		find: eachWebhook((*subject).admission, func(w webhook, report reporter) {
			if strings.Count(w.GenerateName, ".") < 2 || len(validation.IsDNS1123Subdomain(w.GenerateName)) > 0 {
				report("generateName", fmt.Sprintf("the API server refuses to register a webhook named %q: it has to be a domain name of at least three parts", w.GenerateName),
					"write a name such as pods.example.com")
			}
		}),
	},
	{
		Code: "side-effects", Level: Error, Basis: Rejected,
		Explain: `If a webhook has side effects in a dry run, kubectl --dry-run=server and
tools that compare before they write fail for the objects that it intercepts. Therefore
admissionregistration.k8s.io/v1 accepts only None and NoneOnDryRun, and the API server refuses
another value. A webhook that writes anything except its answer has to check request.dryRun and
declare NoneOnDryRun.`,
		find: eachWebhook((*subject).admission, func(w webhook, report reporter) {
			if w.SideEffects == nil || *w.SideEffects != admissionregistrationv1.SideEffectClassNone && *w.SideEffects != admissionregistrationv1.SideEffectClassNoneOnDryRun {
				report("sideEffects", fmt.Sprintf("the API server refuses to register a webhook with sideEffects %s: dry runs could not be answered", shown(w.SideEffects)),
					"write None, or NoneOnDryRun and check request.dryRun")
			}
		}),
	},
	{
		Code: "review-version-unknown", Level: Error, Basis: Rejected,
		Explain: `admissionReviewVersions are the versions of AdmissionReview that the
webhook supports, in order of preference. The API server supports v1 and v1beta1. It refuses a
registration with neither.`,
		find: eachWebhook((*subject).webhooks, func(w webhook, report reporter) {
			if !slices.Contains(w.AdmissionReviewVersions, "v1") && !slices.Contains(w.AdmissionReviewVersions, "v1beta1") {
				report("admissionReviewVersions", fmt.Sprintf("the API server refuses the webhook: it speaks none of its versions %v", w.AdmissionReviewVersions), "add v1, and let the server answer with the version that it was asked in")
			}
		}),
	},
	{
		Code: "review-version-old", Level: Warning, Basis: Policy,
		Explain: `The webhook supports only v1beta1 of AdmissionReview. Current API servers
support it, and a later one may not. v1 exists since Kubernetes 1.16. A server that supports v1
answers with the apiVersion and the uid of the request.`,
		find: eachWebhook((*subject).webhooks, func(w webhook, report reporter) {
			if !slices.Contains(w.AdmissionReviewVersions, "v1") && slices.Contains(w.AdmissionReviewVersions, "v1beta1") {
				report("admissionReviewVersions", "the webhook stops working with the first API server that speaks v1 alone", "let the server understand v1, and add it")
			}
		}),
	},
	{
		Code: "timeout-range", Level: Error, Basis: Rejected,
		Explain: `The API server waits 1 to 30 seconds for a webhook, 10 by default. It
refuses a registration with another timeout.`,
		find: eachWebhook((*subject).admission, func(w webhook, report reporter) {
			if w.TimeoutSeconds != nil && (*w.TimeoutSeconds < 1 || *w.TimeoutSeconds > 30) {
				report("timeoutSeconds", fmt.Sprintf("the API server refuses to register a webhook with a timeout of %d s", *w.TimeoutSeconds), "write a number from 1 to 30")
			}
		}),
	},
	{
		Code: "long-timeout", Level: Warning, Basis: Policy,
		Explain: `While no server answers, every request that the webhook intercepts waits
until the timeout. Then it fails (Fail), or continues late (Ignore). The timeouts of mutating
webhooks add up, because they are called one after another. Clients stop waiting after 30 to 60 s. A
webhook that reads only the object in the request answers within milliseconds; other data belongs in
a cache. Five seconds are enough. The default is ten.`,
		find: eachWebhook((*subject).admission, func(w webhook, report reporter) {
			if w.TimeoutSeconds != nil && *w.TimeoutSeconds > 10 && *w.TimeoutSeconds <= 30 {
				report("timeoutSeconds", fmt.Sprintf("while the webhook does not answer, every request that it intercepts takes %d s longer", *w.TimeoutSeconds), "write 10 or less")
			}
		}),
	},
	{
		Code: "webhook-path", Level: Error, Basis: Rejected,
		Explain: `The path has to begin with a slash, and has neither host nor query. The
API server refuses a registration if a step of the path is empty or invalid.`,
		find: eachWebhook((*subject).webhooks, func(w webhook, report reporter) {
			if w.WebhookPath != nil && !webhookconfig.ValidPath(*w.WebhookPath) {
				report("webhookPath", fmt.Sprintf("the API server refuses the path %q", *w.WebhookPath), "begin it with a slash, and separate names by one slash each")
			}
		}),
	},
	{
		Code: "object-selector", Level: Error, Basis: Rejected,
		Explain: `The objectSelector is invalid: it has an unknown operator, values that the
operator does not allow, no values that the operator requires, or a key that is not a valid label.
The API server refuses the registration.`,
		find: eachWebhook((*subject).admission, func(w webhook, report reporter) {
			if _, err := metav1.LabelSelectorAsSelector(w.ObjectSelector); err != nil {
				report("objectSelector", "the API server refuses to register the webhook: "+err.Error(), "correct the selector")
			}
		}),
	},
	{
		Code: "match-conditions", Level: Error, Basis: Refused,
		Explain: `The annotation olm-webhook-manager.io/match-conditions of the
ClusterServiceVersion adds matchConditions to webhooks. It cannot be read, names an unknown webhook,
or has a condition twice. The manager sets the ClusterServiceVersion to
Failed/InvalidWebhookDescription.`,
		find: violationsOf(requirements.WrongConditions, conditionsPath),
	},
	{
		Code: "match-condition-invalid", Level: Error, Basis: Rejected,
		Explain: `The annotation olm-webhook-manager.io/match-conditions adds conditions:
expressions in CEL over request, object, oldObject, namespaceObject and authorizer. The API server
refuses the registration if an expression does not compile, if the name of a condition is not a
valid label name, or if a webhook has more than 64 conditions. The webhook then stays Blocked, and
the ClusterServiceVersion fails with InstallComponentFailed. The check uses the compiler of the API
server in the version of this program: an older cluster may refuse more expressions, a newer one
fewer.`,
		find: invalidConditions,
	},
	{
		Code: "security-critical-name", Level: Warning, Basis: Policy,
		Explain: `The annotation olm-webhook-manager.io/security-critical of the
ClusterServiceVersion lists the generateNames of webhooks that must not let requests pass while
their pods are lost. A name in it is no admission webhook of the bundle. The manager then opens no
webhook of the operator, also if an administrator allows it for others.`,
		find: unknownCritical,
	},
	{
		Code: "webhook-value", Level: Error, Basis: Rejected,
		Explain: `failurePolicy is Fail or Ignore, matchPolicy is Exact or Equivalent,
reinvocationPolicy is Never or IfNeeded. The definition of ClusterServiceVersions accepts any text,
but the API server refuses the registration.`,
		find: unknownValues,
	},
}

func unknownCritical(s *subject) {
	if _, unknown := subscriptions.SecurityCritical(s.CSV); len(unknown) > 0 {
		s.reportCSV(annotation(wellknown.AnnotationSecurityCritical), fmt.Sprintf("it names %s, which is no validating and no mutating webhook of the bundle", strings.Join(unknown, ", ")),
			"write generateNames of spec.webhookdefinitions, separated by commas, or *")
	}
}

func shown[T ~string](value *T) string {
	if value == nil {
		return "left out"
	}
	return string(*value)
}

func unknownValues(s *subject) {
	check := func(w webhook, field, value string, known ...string) {
		if value != "left out" && !slices.Contains(known, value) {
			s.reportCSV(w.path+"."+field, fmt.Sprintf("the API server refuses to register a webhook with %s %q", field, value), "write "+strings.Join(known, " or "))
		}
	}
	for _, w := range s.admission() {
		check(w, "failurePolicy", shown(w.FailurePolicy), string(admissionregistrationv1.Fail), string(admissionregistrationv1.Ignore))
		check(w, "matchPolicy", shown(w.MatchPolicy), string(admissionregistrationv1.Exact), string(admissionregistrationv1.Equivalent))
		if w.Type == operatorsv1alpha1.MutatingAdmissionWebhook {
			check(w, "reinvocationPolicy", shown(w.ReinvocationPolicy), string(admissionregistrationv1.NeverReinvocationPolicy), string(admissionregistrationv1.IfNeededReinvocationPolicy))
		}
	}
}
