// Package exemptions finds the requests that the backend of a webhook needs to become available again, and
// excludes them from the webhook by matchConditions.
package exemptions

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Exemption is a class of requests that bring the pods behind a webhook back once they
// are gone. A webhook with failurePolicy Fail that intercepts one of them while nobody
// answers it stays down for ever.
type Exemption struct {
	// Name is short and stands in the name of the matchCondition.
	Name string
	// What names the requests for people: "its own pods".
	What string

	subjects   []subject
	namespaces []string     // where the objects live; none for cluster-scoped ones
	labels     []labels.Set // what is known of the objects' labels, one entry for each kind of them
	which      string       // CEL: which of the objects; empty is all of them
	who        string       // CEL: whose requests; empty when it is not known whose
}

// Input is all that the exemptions of a ClusterServiceVersion depend on.
type Input struct {
	CSV   *operatorsv1alpha1.ClusterServiceVersion
	Scope scope.Scope
	// Config is what the administrator configures, in the Subscription.
	Config subscriptions.Config
	// Manager is the user name of the manager; empty when it is not known.
	Manager string
	// Services are the names of the Services, by Deployment.
	Services map[string]string
}

// For returns, for each webhook, the exemptions that it would cut while nobody answers it: its
// own ones, those of the nodes that its pods run on, and the manager's. There are none
// for a webhook that fails open, and none beyond the namespaces of the scope. They are computed
// once for all webhooks.
func For(in Input) func(operatorsv1alpha1.WebhookDescription) []Exemption {
	all := exemptions(in)
	return func(d operatorsv1alpha1.WebhookDescription) []Exemption { return exemptionsOf(all, in.Scope, d) }
}

func exemptionsOf(all []Exemption, s scope.Scope, d operatorsv1alpha1.WebhookDescription) []Exemption {
	failsOpen := d.FailurePolicy != nil && *d.FailurePolicy == admissionregistrationv1.Ignore
	if failsOpen || d.Type == operatorsv1alpha1.ConversionWebhook {
		return nil
	}
	var cut []Exemption
	for _, l := range all {
		if l.who != "" && l.cutBy(d, s) {
			cut = append(cut, l)
		}
	}
	return cut
}

// ForWidestScope is For of an operator that is not installed yet: in the
// widest scope that its install modes allow.
func ForWidestScope(csv *operatorsv1alpha1.ClusterServiceVersion) func(operatorsv1alpha1.WebhookDescription) []Exemption {
	widest := []string{csv.Namespace}
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported && mode.Type == operatorsv1alpha1.InstallModeTypeAllNamespaces {
			widest = []string{metav1.NamespaceAll}
		}
	}
	return For(Input{CSV: csv, Scope: scope.Scope{Namespaces: widest}})
}

// cutBy tells whether the webhook intercepts any of the requests.
func (l Exemption) cutBy(d operatorsv1alpha1.WebhookDescription, s scope.Scope) bool {
	if len(l.namespaces) > 0 && !slices.ContainsFunc(l.namespaces, s.MayCover) {
		return false
	}
	return slices.ContainsFunc(l.subjects, func(s subject) bool { return intercepts(d, s) && l.selectedBy(d.ObjectSelector, s) })
}

// selectedBy tells whether an objectSelector may match one of the objects that requests
// about the subject show.
func (l Exemption) selectedBy(selector *metav1.LabelSelector, s subject) bool {
	switch {
	case s.bare:
		return matches(selector, labels.Set{})
	case len(l.labels) == 0:
		return true
	default:
		return slices.ContainsFunc(l.labels, func(known labels.Set) bool { return couldSelect(selector, known) })
	}
}

// exemptions are those of a ClusterServiceVersion, whatever its webhooks intercept.
func exemptions(in Input) []Exemption {
	o := ownNames(in)
	if len(o.deployments) == 0 {
		return nil
	}
	machinery := anyOf(systemIdentities, userIn(in.Manager))
	return slices.Concat(o.exemptions(machinery), o.claimExemptions(), o.otherDeployments(in.Manager), o.toldExemptions(in.Manager, machinery), []Exemption{o.addressExemption(), permissionsExemption(in.CSV, in.Manager)}, clusterExemptions(in.Manager, machinery))
}
