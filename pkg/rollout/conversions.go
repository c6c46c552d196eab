package rollout

import (
	"cmp"
	"crypto/x509"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

// A conversion by another version stays until this version serves it.
func (f *facts) unconverted(w render.Webhook) []render.Conversion {
	ours := len(f.Upgrade.From) == 0 && f.wasRegistered(w)
	return slices.DeleteFunc(slices.Clone(w.Conversions), func(c render.Conversion) bool {
		live := f.Observed.CRDs[c.CRD]
		return live != nil && conversion.Calls(live, c) && (ours || conversion.CallsAlike(live, c))
	})
}

func (f *facts) notNamed(c render.Conversion) bool {
	live := f.Observed.CRDs[c.CRD]
	return live == nil || !conversion.Calls(live, c)
}

// upToDate requires the recorded generation: otherwise a late write for an earlier one could succeed. A delegated
// conversion must have none: with it, the policy of ADR 61 reverts the caBundle that another client injects.
func (f *facts) upToDate(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) bool {
	is, generation := live.Spec.Conversion.DeepCopy(), c.Generation
	if c.Delegated {
		generation = 0
	}
	if is != nil && is.Webhook != nil && is.Webhook.ClientConfig != nil && f.verifies(live, c) {
		is.Webhook.ClientConfig.CABundle = c.Spec.Webhook.ClientConfig.CABundle
	}
	return equality.Semantic.DeepEqual(is, &c.Spec) && conversion.HasAnnotations(live, c) &&
		registration.AnnotatedGeneration(live) == generation
}

// verifies requires all desired CAs, and no CA that the manager may have retired.
func (f *facts) verifies(live *apiextensionsv1.CustomResourceDefinition, c render.Conversion) bool {
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
		ofTheProvider := cmp.Or(f.Provider, managerv1alpha1.ProviderManager) != managerv1alpha1.ProviderManager || slices.Contains(ca.Subject.Organization, wellknown.FieldManager)
		return ofTheProvider && !slices.ContainsFunc(wanted, ca.Equal)
	})
}

func (f *facts) converted(w render.Webhook) []render.Conversion {
	return slices.DeleteFunc(slices.Clone(w.Conversions), f.notNamed)
}

// A port or path that another client wrote is repaired at once.
func (f *facts) conversionRouteEdited(c render.Conversion) bool {
	live := f.Observed.CRDs[c.CRD]
	if live == nil || !conversion.Calls(live, c) {
		return false
	}
	is, desired := conversion.RouteOf(live.Spec.Conversion), conversion.RouteOf(&c.Spec)
	edited := fieldpath.NewSet()
	if is.Path != desired.Path {
		edited = edited.Union(conversion.PathField)
	}
	if is.Port != desired.Port {
		edited = edited.Union(conversion.PortField)
	}
	return is != desired && drift.SoleOwner(live, edited)
}

func (f *facts) asRouted(conversions []render.Conversion) []render.Conversion {
	routed := slices.Clone(conversions)
	for i, c := range routed {
		if f.conversionRouteEdited(c) {
			route := conversion.RouteOf(f.Observed.CRDs[c.CRD].Spec.Conversion)
			routed[i].Spec = *c.Spec.DeepCopy()
			service := routed[i].Spec.Webhook.ClientConfig.Service
			service.Port, service.Path = &route.Port, &route.Path
		}
	}
	return routed
}

// mayReconvert includes a conversion that another client removed. An edited route needs checks first.
func (f *facts) mayReconvert(w render.Webhook, c render.Conversion) bool {
	live := f.Observed.CRDs[c.CRD]
	if live == nil {
		return false
	}
	_, by := owners.ConvertedBy(live)
	before := f.lastCall(w.Description)
	return conversion.Calls(live, c) || by == "" && registersCRD(f.Previous, c.CRD) && (before == "" || before == conversion.CallOf(&c.Spec))
}

// withoutConversion returns the definitions that no Service of the namespace converts.
func (f *facts) withoutConversion(d operatorsv1alpha1.WebhookDescription) (lost []*apiextensionsv1.CustomResourceDefinition) {
	for _, name := range d.ConversionCRDs {
		if live := f.Observed.CRDs[name]; live != nil && !f.convertedHere(live) {
			lost = append(lost, live)
		}
	}
	return lost
}

// A Service that is recreated is missing for a moment, which is no gap.
func (f *facts) convertedHere(crd *apiextensionsv1.CustomResourceDefinition) bool {
	namespace, _ := owners.ConvertedBy(crd)
	return namespace == f.CSV.Namespace && conversion.HasBundle(crd, f.Provider == managerv1alpha1.ProviderNone)
}

// conversionsToEnd returns the conversions of previous versions that this version does not declare.
func (x *remover) conversionsToEnd() conversion.End {
	stale := slices.Collect(maps.Values(x.Observed.CRDs))
	stale = slices.DeleteFunc(stale, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return csvspec.Converts(x.CSV, crd.Name) >= 0
	})
	return x.endAll(stale, func(*corev1.Service) bool { return true })
}

// endAll ends conversions by the observed Services that match.
func (x *remover) endAll(crds []*apiextensionsv1.CustomResourceDefinition, matches func(*corev1.Service) bool) conversion.End {
	converts := func(service string) bool {
		live := x.Observed.Services[service]
		return live != nil && matches(live)
	}
	return conversion.EndAll(x.CSV.Namespace, converts, crds, x.Observed.ObjectCounts, x.CSV.Annotations[wellknown.AnnotationForceConversion] == "true")
}

// conversionStep writes a conversion and its generation. Without a webhook, it ends the conversion.
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

// EndConversionSteps returns the steps that end the conversion of CustomResourceDefinitions.
func EndConversionSteps(crds []*apiextensionsv1.CustomResourceDefinition) []Step {
	none := render.Conversion{Spec: apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}}
	return lists.Map(crds, func(crd *apiextensionsv1.CustomResourceDefinition) Step { return conversionStep(crd, none) })
}

func crdKey(name string) string {
	return drift.KeyOf(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

func microTime(t time.Time) metav1.MicroTime {
	return metav1.NewMicroTime(t.Truncate(time.Microsecond))
}

// gapOf starts a gap when a live conversion was last reported, and ends it with the next observation.
func (f *facts) gapOf(d operatorsv1alpha1.WebhookDescription) *managerv1alpha1.ConversionGap {
	before := f.previousStatus(d)
	if before == nil {
		return nil
	}
	lost := f.withoutConversion(d)
	open := before.LastGap != nil && before.LastGap.EndTime == nil
	switch {
	case open && len(lost) == 0:
		closed := before.LastGap.DeepCopy()
		closed.EndTime = new(microTime(f.now))
		return closed
	case !open && len(lost) > 0 && isRegistered(*before):
		return f.newGap(lost, *before)
	default:
		return before.LastGap
	}
}

// The write that removed the conversion starts the gap, if field ownership shows it.
func (f *facts) newGap(lost []*apiextensionsv1.CustomResourceDefinition, before managerv1alpha1.WebhookStatus) *managerv1alpha1.ConversionGap {
	gap := &managerv1alpha1.ConversionGap{StartTime: microTime(f.now)}
	for _, crd := range lost {
		gap.CRDs = append(gap.CRDs, crd.Name)
		by, at := conversion.LastOtherWriter(crd)
		if at.IsZero() || before.LastTransitionTime != nil && at.Before(before.LastTransitionTime.Time) || !at.Before(gap.StartTime.Time) {
			continue
		}
		gap.By, gap.StartTime = by, microTime(at)
	}
	slices.Sort(gap.CRDs)
	return gap
}
