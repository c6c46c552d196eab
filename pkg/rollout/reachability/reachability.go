// Package reachability reports from which API servers a registered webhook is not reached. It is pure.
package reachability

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apiservers/calls"
)

// steps are the types of webhooks whose calls API servers count by name.
var steps = map[operatorsv1alpha1.WebhookAdmissionType]calls.Step{
	operatorsv1alpha1.MutatingAdmissionWebhook:   calls.Mutating,
	operatorsv1alpha1.ValidatingAdmissionWebhook: calls.Validating,
}

// Called returns the webhooks that API servers call, by what API servers count. Conversion webhooks are not among them.
func Called(status managerv1alpha1.WebhookRolloutStatus) map[calls.Webhook]managerv1alpha1.WebhookStatus {
	all := map[calls.Webhook]managerv1alpha1.WebhookStatus{}
	for _, d := range status.Deployments {
		for _, w := range d.Webhooks {
			if step, counted := steps[w.Type]; counted && (w.State == managerv1alpha1.WebhookRegistered || w.State == managerv1alpha1.WebhookUnreachable) {
				all[calls.Webhook{Step: step, Name: w.GenerateName}] = w
			}
		}
	}
	return all
}

// Reports reports whether a status has the condition about calls of API servers.
func Reports(status managerv1alpha1.WebhookRolloutStatus) bool {
	return meta.FindStatusCondition(status.Conditions, managerv1alpha1.ConditionCallsFail) != nil
}

// From returns from which API servers a registered webhook is not reached. Until something is known, the previous report stays.
func From(report calls.Report, w operatorsv1alpha1.WebhookDescription, previous *managerv1alpha1.WebhookStatus) []managerv1alpha1.UnreachableFrom {
	if !report.Complete && previous != nil {
		return previous.UnreachableFrom
	}
	return lists.Map(report.Failures[calls.Webhook{Step: steps[w.Type], Name: w.GenerateName}], func(f calls.ServerFailure) managerv1alpha1.UnreachableFrom {
		return managerv1alpha1.UnreachableFrom{APIServer: f.APIServer, Error: f.Error, StartTime: metav1.NewTime(f.Since)}
	})
}

// Condition returns the condition CallsFail. It has no message if no call is known to fail, and all API servers are observed.
func Condition(report calls.Report, status managerv1alpha1.WebhookRolloutStatus) metav1.Condition {
	c := metav1.Condition{Type: managerv1alpha1.ConditionCallsFail}
	called := Called(status)
	failing, shared := failures(called), sharedNames(report, called)
	switch {
	case len(called) == 0:
	case failing != "":
		c.Message = failing + ". Check the routes from these API servers to the Service and its pods: kubectl webhooks doctor"
	case shared != "":
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, managerv1alpha1.ReasonNameShared, shared
	case report.Unobserved != "":
		c.Status, c.Reason = metav1.ConditionUnknown, managerv1alpha1.ReasonNotObserved
		c.Message = "whether calls fail is not known for each API server: " + report.Unobserved
	}
	return c
}

func failures(called map[calls.Webhook]managerv1alpha1.WebhookStatus) string {
	var all []string
	for of, w := range called {
		for _, from := range w.UnreachableFrom {
			all = append(all, fmt.Sprintf("calls of webhook %s from API server %s fail since %s: %s", of.Name, from.APIServer, from.StartTime.UTC().Format(time.RFC3339), from.Error))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}

func sharedNames(report calls.Report, called map[calls.Webhook]managerv1alpha1.WebhookStatus) string {
	var all []string
	for of, configurations := range report.Shared {
		if _, own := called[of]; own {
			all = append(all, fmt.Sprintf("calls of webhook %s fail, and it is not known of which configuration: API servers count the calls of all configurations together that have a webhook of this name: %s", of.Name, strings.Join(configurations, ", ")))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "; ")
}
