package install

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

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
	// Gone is not declared any more.
	Gone Change = "Gone"
)

// Changes compares two versions of an operator: what becomes of each webhook of the old
// one. Those of the new one that are not among them are new.
func Changes(older, newer *operatorsv1alpha1.ClusterServiceVersion) map[Identity]Change {
	signed := signatures(newer)
	rolled := map[string]bool{}
	for _, spec := range Deployments(newer) {
		rolled[spec.Name] = true
	}
	changes := map[Identity]Change{}
	for identity, before := range signatures(older) {
		after, declared := signed[identity]
		switch {
		case !declared:
			changes[identity] = Gone
		case !rolled[before.deployment], stays(identity) && before.deployment != after.deployment:
			changes[identity] = Moved
		case before.equals(after):
			changes[identity] = Same
		case stays(identity):
			changes[identity] = Moved
		default:
			changes[identity] = Changed
		}
	}
	return changes
}

// stays tells what is never Changed, but stays as it is until its successor serves: a
// conversion webhook, since objects are stored in versions that somebody does not read, and an
// APIService, since to be without it for a while does not keep its calls from failing.
func stays(i Identity) bool {
	return i.Type == operatorsv1alpha1.ConversionWebhook || i.Type == APIServiceType
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

func signatures(csv *operatorsv1alpha1.ClusterServiceVersion) map[Identity]signature {
	signed := map[Identity]signature{}
	for _, spec := range Deployments(csv) {
		descriptions := DescriptionsOf(csv, spec.Name)
		ports := allocatePorts(descriptions)
		in := Input{CSV: csv, Services: map[string]string{spec.Name: spec.Name}, Scope: scope.Scope{Group: &operatorsv1.OperatorGroup{}}}
		in.deadlocks = SelfDeadlocks(in.lifelineInput())
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
			signed[IdentityOf(d)] = c
		}
	}
	return signed
}
