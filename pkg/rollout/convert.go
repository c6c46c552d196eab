package rollout

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"slices"
	"strconv"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
)

// convert decides about a conversion webhook as register does about the others. It
// is registered when each of its CustomResourceDefinitions names its Service.
func (p *planner) convert(d render.Deployment, w render.Webhook, backend workload.Progress) webhookView {
	view := p.converting(d, w, backend)
	view.gap = p.gapOf(w.Description)
	return view
}

func (p *planner) converting(d render.Deployment, w render.Webhook, backend workload.Progress) webhookView {
	for _, c := range w.Conversions {
		if reason, message := p.refused(crdKey(c.CRD)); reason != "" {
			return webhookView{Webhook: w, state: managerv1alpha1.WebhookBlocked, reason: reason, message: message}
		}
	}
	if missing := p.unconverted(w); len(missing) > 0 {
		if reason, message := p.obstacle(d, w, backend); reason != "" {
			if len(p.Upgrade.From) == 0 && len(p.lost(w.Description)) == 0 && !p.allNamed(missing) {
				since := p.sinceOf(w.Description, managerv1alpha1.WebhookRegistered)
				return moving(webhookView{Webhook: w, state: managerv1alpha1.WebhookRegistered, registered: since}, reason,
					fmt.Sprintf("another Deployment converts until deployment %s does: %s", d.Object.Name, message))
			}
			return waiting(w, reason, message)
		}
		p.wantConversions(missing)
		if p.undialled(d, w) {
			return waiting(w, reasonUndialled, "spec.conversion of its CustomResourceDefinitions is being written: "+undialled)
		}
		return waiting(w, "Registering", "spec.conversion of its CustomResourceDefinitions is being written")
	}
	if view, decided := p.rerouteConversions(d, w, backend); decided {
		return view
	}
	p.wantConversions(w.Conversions)
	since := p.sinceOf(w.Description, managerv1alpha1.WebhookRegistered)
	return p.reachability(d, w, "", wholeSecond(since), backend)
}

// unconverted are the conversions that are not registered with this webhook. One that is
// as another version has it stays so until this one serves it.
func (p *planner) unconverted(w render.Webhook) []render.Conversion {
	ours := len(p.Upgrade.From) == 0 && p.wasRegistered(w)
	return slices.DeleteFunc(slices.Clone(w.Conversions), func(c render.Conversion) bool {
		live := p.Observed.CRDs[c.CRD]
		return live != nil && conversion.Calls(live, c) && (ours || conversion.CallsAlike(live, c))
	})
}

// allNamed tells whether the definitions of some conversions all name their Service, however
// they call it.
func (p *planner) allNamed(conversions []render.Conversion) bool {
	return !slices.ContainsFunc(conversions, func(c render.Conversion) bool {
		live := p.Observed.CRDs[c.CRD]
		return live == nil || !conversion.Calls(live, c)
	})
}

func (p *planner) wantConversions(conversions []render.Conversion) {
	for _, c := range conversions {
		live := p.Observed.CRDs[c.CRD]
		c = conversion.WithLiveBundle(c, live)
		if live == nil || p.plans(crdKey(c.CRD)) || p.upToDate(live, c) || !c.Delegated && certgeneration.Later(conversion.TrustedGeneration(live, c), c.Generation) {
			continue
		}
		p.take(conversionStep(live, c))
	}
}

// upToDate tells whether a definition is as a conversion wants it, and says so of its
// generation: until then a late write for an earlier one could come through. Who wrote the
// annotation is not asked: another client may apply the definition with the same value.
func (p *planner) upToDate(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) bool {
	is := live.Spec.Conversion.DeepCopy()
	if is != nil && is.Webhook != nil && is.Webhook.ClientConfig != nil && p.verifies(live, c) {
		is.Webhook.ClientConfig.CABundle = c.Spec.Webhook.ClientConfig.CABundle
	}
	return equality.Semantic.DeepEqual(is, &c.Spec) && conversion.HasAnnotations(live, c) &&
		(c.Delegated || registration.NotedGeneration(live) == c.Generation)
}

// verifies reports whether the caBundle that another client wrote verifies what the pods may
// serve, and trusts no CA beyond that whose trust the manager may have withdrawn.
func (p *planner) verifies(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) bool {
	has, wanted := conversion.CertificatesOf(live.Spec.Conversion.Webhook.ClientConfig.CABundle), conversion.CertificatesOf(c.Spec.Webhook.ClientConfig.CABundle)
	if len(wanted) == 0 || drift.LastWriter(live, conversion.BundleField) == "" {
		return false
	}
	for _, ca := range wanted {
		if !slices.ContainsFunc(has, ca.Equal) {
			return false
		}
	}
	return !slices.ContainsFunc(has, func(ca *x509.Certificate) bool {
		ofTheProvider := cmp.Or(p.Provider, managerv1alpha1.ProviderManager) != managerv1alpha1.ProviderManager || slices.Contains(ca.Subject.Organization, wellknown.FieldManager)
		return ofTheProvider && !slices.ContainsFunc(wanted, ca.Equal)
	})
}

// conversionStep writes a conversion, and which generation it trusts; none, when it ends.
func conversionStep(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) Step {
	desired := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: live.Name, UID: live.UID, ResourceVersion: live.ResourceVersion},
		Spec:       apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &c.Spec},
	}
	step := Step{Verb: Convert, Object: desired, Live: live, Drift: drift.Drift{Fields: []string{"spec.conversion"}}}
	if c.Spec.Strategy == apiextensionsv1.WebhookConverter {
		desired.Annotations = map[string]string{}
		if !c.Delegated {
			desired.Annotations[wellknown.AnnotationGeneration] = strconv.FormatInt(c.Generation, 10)
		}
		conversion.Propagate(desired, live, c)
		step.Desired = desired
		if changed := drift.Of(desired, live); !changed.None() {
			step.Drift = changed
		}
	}
	return step
}

// StepsToEnd returns the steps that end the conversion of CustomResourceDefinitions.
func StepsToEnd(crds []*apiextensionsv1.CustomResourceDefinition) (steps []Step) {
	for _, crd := range crds {
		steps = append(steps, conversionStep(crd, render.Conversion{Spec: apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}}))
	}
	return steps
}

func crdKey(name string) string {
	return drift.KeyOf(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// unconvertStale ends the conversions that the ClusterServiceVersion does not
// declare any more.
func (p *planner) unconvertStale() {
	ended := p.endedConversions()
	for _, step := range StepsToEnd(ended.CRDs) {
		if !p.plans(step.Key()) { // else it ends after that write
			p.take(step)
		}
	}
	p.plan.Count = append(p.plan.Count, ended.Count...)
	p.inUse = ended.InUse
}

func (o Observed) serviceNames() map[string]bool {
	names := map[string]bool{}
	for name := range o.Services {
		names[name] = true
	}
	return names
}

func (in Input) endOf(crd *apiextensionsv1.CustomResourceDefinition) conversion.Ending {
	return conversion.EndingOf(crd, in.Observed.Objects, in.CSV.Annotations[wellknown.AnnotationForceConversion] == "true")
}
