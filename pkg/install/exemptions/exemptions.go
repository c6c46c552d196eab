// Package exemptions finds the requests that the backend of a webhook needs to become available again, and
// excludes them from the webhook by matchConditions.
package exemptions

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Exemption is a class of requests that a backend needs. A webhook that intercepts them and fails closed blocks itself.
type Exemption struct {
	// Name is a part of the name of the matchCondition.
	Name string
	// What describes the requests for users, as in "its own pods".
	What string

	subjects   []subject
	namespaces []string     // namespaces of the objects; empty for cluster-scoped objects
	labels     []labels.Set // known labels of the objects, one entry per kind
	which      string       // CEL: selects objects; empty selects all
	who        string       // CEL: selects users; empty if the users are unknown
}

// Input is everything that the exemptions of a CSV depend on.
type Input struct {
	CSV    *operatorsv1alpha1.ClusterServiceVersion
	Scope  scope.Scope
	Config subscriptions.Config
	// Manager is the user name of the manager; empty when it is not known.
	Manager string
	// Installer is the user name of the account that writes objects of the operator; empty if the manager does.
	Installer string
	// Services are the names of the Services, by Deployment.
	Services map[string]string
}

// For returns a function for the exemptions of one webhook, if it fails closed and can intercept the
// requests. They are computed once for all webhooks.
func For(in Input) func(operatorsv1alpha1.WebhookDescription) []Exemption {
	all := exemptions(in)
	return func(d operatorsv1alpha1.WebhookDescription) []Exemption {
		failsOpen := d.FailurePolicy != nil && *d.FailurePolicy == admissionregistrationv1.Ignore
		if failsOpen || d.Type == operatorsv1alpha1.ConversionWebhook {
			return nil
		}
		return lists.Filter(all, func(e Exemption) bool { return e.who != "" && e.interceptedBy(d, in.Scope) })
	}
}

// ForWidestScope is for an operator that is not installed yet: it uses all that the install modes allow.
func ForWidestScope(csv *operatorsv1alpha1.ClusterServiceVersion) func(operatorsv1alpha1.WebhookDescription) []Exemption {
	widest := []string{csv.Namespace}
	if slices.Contains(csv.Spec.InstallModes, operatorsv1alpha1.InstallMode{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true}) {
		widest = []string{metav1.NamespaceAll}
	}
	return For(Input{CSV: csv, Scope: scope.Scope{Namespaces: widest}})
}

func (e Exemption) interceptedBy(d operatorsv1alpha1.WebhookDescription, s scope.Scope) bool {
	if len(e.namespaces) > 0 && !slices.ContainsFunc(e.namespaces, s.MayCover) {
		return false
	}
	return slices.ContainsFunc(e.subjects, func(s subject) bool { return intercepts(d, s) && e.selectedBy(d.ObjectSelector, s) })
}

func (e Exemption) selectedBy(selector *metav1.LabelSelector, s subject) bool {
	switch {
	case s.bare:
		return parsed(selector).Matches(labels.Set{})
	case len(e.labels) == 0:
		return true
	default:
		return slices.ContainsFunc(e.labels, func(known labels.Set) bool { return couldSelect(selector, known) })
	}
}

// exemptions returns all exemptions of a CSV, independent of the rules of its webhooks.
func exemptions(in Input) []Exemption {
	b := backendOf(in)
	if len(b.deployments) == 0 {
		return nil
	}
	controlPlane, writers := anyOf(systemIdentities, userIn(in.Manager)), userIn(in.Manager, in.Installer)
	return slices.Concat(b.exemptions(controlPlane, anyOf(systemIdentities, writers)), b.claimExemptions(), b.otherDeployments(writers), b.orderExemptions(writers, controlPlane), []Exemption{b.addressExemption(), permissionsExemption(in.CSV, in.Manager)}, clusterExemptions(in.Manager, controlPlane))
}
