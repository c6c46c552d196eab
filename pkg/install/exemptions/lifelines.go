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

// Lifeline is a class of requests that bring the pods behind a webhook back once they
// are gone. A webhook with failurePolicy Fail that intercepts one of them while nobody
// answers it stays down for ever.
type Lifeline struct {
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

// LifelineInput is all that the lifelines of a ClusterServiceVersion depend on.
type LifelineInput struct {
	CSV   *operatorsv1alpha1.ClusterServiceVersion
	Scope scope.Scope
	// Config is what the administrator configures, in the Subscription.
	Config subscriptions.Config
	// Manager is the user name of the manager; empty when it is not known.
	Manager string
	// Services are the names of the Services, by Deployment.
	Services map[string]string
}

// SelfDeadlocks returns, for each webhook, the lifelines that it would cut while nobody answers it: its
// own ones, those of the nodes that its pods run on, and the manager's. There are none
// for a webhook that fails open, and none beyond the namespaces of the scope. They are computed
// once for all webhooks.
func SelfDeadlocks(in LifelineInput) func(operatorsv1alpha1.WebhookDescription) []Lifeline {
	all := lifelines(in)
	return func(d operatorsv1alpha1.WebhookDescription) []Lifeline { return selfDeadlocks(all, in.Scope, d) }
}

func selfDeadlocks(all []Lifeline, s scope.Scope, d operatorsv1alpha1.WebhookDescription) []Lifeline {
	failsOpen := d.FailurePolicy != nil && *d.FailurePolicy == admissionregistrationv1.Ignore
	if failsOpen || d.Type == operatorsv1alpha1.ConversionWebhook {
		return nil
	}
	var cut []Lifeline
	for _, l := range all {
		if l.who != "" && l.cutBy(d, s) {
			cut = append(cut, l)
		}
	}
	return cut
}

// SelfDeadlocksAnywhere is SelfDeadlocks of an operator that is not installed yet: in the
// widest scope that its install modes allow.
func SelfDeadlocksAnywhere(csv *operatorsv1alpha1.ClusterServiceVersion) func(operatorsv1alpha1.WebhookDescription) []Lifeline {
	widest := []string{csv.Namespace}
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported && mode.Type == operatorsv1alpha1.InstallModeTypeAllNamespaces {
			widest = []string{metav1.NamespaceAll}
		}
	}
	return SelfDeadlocks(LifelineInput{CSV: csv, Scope: scope.Scope{Namespaces: widest}})
}

// cutBy tells whether the webhook intercepts any of the requests.
func (l Lifeline) cutBy(d operatorsv1alpha1.WebhookDescription, s scope.Scope) bool {
	if len(l.namespaces) > 0 && !slices.ContainsFunc(l.namespaces, s.MayCover) {
		return false
	}
	return slices.ContainsFunc(l.subjects, func(s subject) bool { return intercepts(d, s) && l.selectedBy(d.ObjectSelector, s) })
}

// selectedBy tells whether an objectSelector may match one of the objects that requests
// about the subject show.
func (l Lifeline) selectedBy(selector *metav1.LabelSelector, s subject) bool {
	switch {
	case s.bare:
		return matches(selector, labels.Set{})
	case len(l.labels) == 0:
		return true
	default:
		return slices.ContainsFunc(l.labels, func(known labels.Set) bool { return couldSelect(selector, known) })
	}
}

// lifelines are those of a ClusterServiceVersion, whatever its webhooks intercept.
func lifelines(in LifelineInput) []Lifeline {
	o := ownNames(in)
	if len(o.deployments) == 0 {
		return nil
	}
	machinery := anyOf(systemIdentities, userIn(in.Manager))
	return slices.Concat(o.lifelines(machinery), o.claimLifelines(), o.otherDeployments(in.Manager), o.toldLifelines(in.Manager, machinery), []Lifeline{o.addressLifeline(), permissionsLifeline(in.CSV, in.Manager)}, clusterLifelines(in.Manager, machinery))
}
