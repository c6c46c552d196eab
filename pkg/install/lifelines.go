package install

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

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

// SelfDeadlocks are the lifelines that a webhook would cut while nobody answers it: its
// own ones, those of the nodes that its pods run on, and the manager's. There are none
// for a webhook that fails open, and none beyond the namespaces of the scope.
func SelfDeadlocks(in Input, d operatorsv1alpha1.WebhookDescription) []Lifeline {
	return selfDeadlocks(in.allLifelines(), in.Scope, d)
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
// widest scope that its install modes allow. It is computed once for all webhooks.
func SelfDeadlocksAnywhere(csv *operatorsv1alpha1.ClusterServiceVersion) func(operatorsv1alpha1.WebhookDescription) []Lifeline {
	widest := []string{csv.Namespace}
	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported && mode.Type == operatorsv1alpha1.InstallModeTypeAllNamespaces {
			widest = []string{metav1.NamespaceAll}
		}
	}
	in := Input{CSV: csv, Scope: scope.Scope{Namespaces: widest}}
	all := in.allLifelines()
	return func(d operatorsv1alpha1.WebhookDescription) []Lifeline { return selfDeadlocks(all, in.Scope, d) }
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

// allLifelines are the lifelines, found once for all webhooks of a rendering.
func (in Input) allLifelines() []Lifeline {
	if in.lifelines != nil {
		return in.lifelines
	}
	return lifelines(in)
}

// lifelines are those of a ClusterServiceVersion, whatever its webhooks intercept.
func lifelines(in Input) []Lifeline {
	o := ownNames(in)
	if len(o.deployments) == 0 {
		return nil
	}
	machinery := anyOf(systemIdentities, userIn(in.Manager))
	return slices.Concat(o.lifelines(machinery), o.claimLifelines(), o.otherDeployments(in.Manager), o.toldLifelines(in.Manager, machinery), []Lifeline{o.addressLifeline(), permissionsLifeline(in.CSV, in.Manager)}, clusterLifelines(in.Manager, machinery))
}
