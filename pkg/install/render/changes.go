package render

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/exemptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Change is the effect of a new version of an operator on a registered webhook of the old version.
type Change string

const (
	// Same means that the webhook is called in the same way, and stays registered during the rollout.
	Same Change = "Same"
	// Moved means that another Deployment serves the webhook. The registration is switched when that serves.
	Moved Change = "Moved"
	// Changed means that the webhook is unregistered before the rollout and registered afterwards.
	Changed Change = "Changed"
	// Removed means that the new version does not declare the webhook.
	Removed Change = "Removed"
)

// Changes returns the change of each webhook of the older version.
func Changes(older, newer *operatorsv1alpha1.ClusterServiceVersion) map[csvspec.Identity]Change {
	signed := signatures(newer)
	rolled := sets.New(csvspec.DeploymentNames(newer)...)
	changes := map[csvspec.Identity]Change{}
	for identity, before := range signatures(older) {
		after, declared := signed[identity]
		switch {
		case !declared:
			changes[identity] = Removed
		case !rolled.Has(before.deployment), csvspec.StaysRegistered(identity) && before.deployment != after.deployment:
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

// With all defaults.
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
			switch r := w.Registration.(type) {
			case *admissionregistrationv1.ValidatingWebhookConfiguration:
				c.webhook = r.Webhooks
			case *admissionregistrationv1.MutatingWebhookConfiguration:
				c.webhook = r.Webhooks
			case *apiregistrationv1.APIService:
				c.webhook = r.Spec
			default:
				c.webhook = w.Conversions
			}
			signed[csvspec.IdentityOf(d)] = c
		}
	}
	return signed
}
