package render

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Change is what a new version of an operator means for a webhook that the old version
// has registered.
type Change string

// The changes.
const (
	// Same is called as before, on a Deployment of the same name: it stays in service
	// while that is rolled out.
	Same Change = "Same"
	// Moved has another Deployment, and the new version does not touch the old one. It
	// stays there, and is switched in place once the new one serves.
	Moved Change = "Moved"
	// Changed is called in another way, and the Deployment that serves it now is rolled
	// out anew: it is taken out of service before, and comes back when the new one serves.
	Changed Change = "Changed"
	// Removed is not declared any more.
	Removed Change = "Removed"
)

// Changes compares two versions of an operator: what becomes of each webhook of the old
// one. Those of the new one that are not among them are new.
func Changes(older, newer *operatorsv1alpha1.ClusterServiceVersion) map[csvspec.Identity]Change {
	signed := signatures(newer)
	rolled := map[string]bool{}
	for _, spec := range csvspec.Deployments(newer) {
		rolled[spec.Name] = true
	}
	changes := map[csvspec.Identity]Change{}
	for identity, before := range signatures(older) {
		after, declared := signed[identity]
		switch {
		case !declared:
			changes[identity] = Removed
		case !rolled[before.deployment], csvspec.StaysRegistered(identity) && before.deployment != after.deployment:
			changes[identity] = Moved
		case before.equals(after):
			changes[identity] = Same
		case csvspec.StaysRegistered(identity):
			changes[identity] = Moved
		default:
			changes[identity] = Changed
		}
	}
	return changes
}

// signature is everything about a webhook that an API server, or the Service between, needs
// to know, with all defaults written out.
type signature struct {
	deployment string
	target     intstr.IntOrString
	webhook    any
}

func (s signature) equals(other signature) bool {
	return s.deployment == other.deployment && s.target == other.target && equality.Semantic.DeepEqual(s.webhook, other.webhook)
}

func signatures(csv *operatorsv1alpha1.ClusterServiceVersion) map[csvspec.Identity]signature {
	signed := map[csvspec.Identity]signature{}
	for _, spec := range csvspec.Deployments(csv) {
		descriptions := csvspec.Descriptions(csv, spec.Name)
		ports := allocatePorts(descriptions)
		in := Input{CSV: csv, Services: map[string]string{spec.Name: spec.Name}, Scope: scope.Scope{Group: &operatorsv1.OperatorGroup{}}}
		in.exempted = exemptions.For(in.exemptionInput())
		for i, d := range descriptions {
			w, c := webhook(in, d, ports.of[i]), signature{deployment: spec.Name, target: portPairOf(d).target}
			switch {
			case w.Validating != nil:
				c.webhook = w.Validating.Webhooks
			case w.Mutating != nil:
				c.webhook = w.Mutating.Webhooks
			case w.APIService != nil:
				c.webhook = w.APIService.Spec
			default:
				c.webhook = w.Conversions
			}
			signed[csvspec.IdentityOf(d)] = c
		}
	}
	return signed
}
