package rollout

import (
	"cmp"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// convert decides about a conversion webhook as register does about the others. It
// is registered when each of its CustomResourceDefinitions names its Service.
func (p *planner) convert(d install.Deployment, w install.Webhook, backend progress) webhookView {
	view := p.converting(d, w, backend)
	view.gap = p.gapOf(w.Description)
	return view
}

func (p *planner) converting(d install.Deployment, w install.Webhook, backend progress) webhookView {
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
func (p *planner) unconverted(w install.Webhook) []install.Conversion {
	ours := len(p.Upgrade.From) == 0 && p.wasRegistered(w)
	return slices.DeleteFunc(slices.Clone(w.Conversions), func(c install.Conversion) bool {
		live := p.Observed.CRDs[c.CRD]
		return live != nil && converted(live, c) && (ours || calledAlike(live, c))
	})
}

// allNamed tells whether the definitions of some conversions all name their Service, however
// they call it.
func (p *planner) allNamed(conversions []install.Conversion) bool {
	return !slices.ContainsFunc(conversions, func(c install.Conversion) bool {
		live := p.Observed.CRDs[c.CRD]
		return live == nil || !converted(live, c)
	})
}

// calledAlike tells whether a definition calls its webhook as a conversion wants it,
// whatever it trusts.
func calledAlike(live *apiextensionsv1.CustomResourceDefinition, c install.Conversion) bool {
	is, wanted := live.Spec.Conversion.Webhook, c.Spec.Webhook
	return equality.Semantic.DeepEqual(is.ClientConfig.Service, wanted.ClientConfig.Service) &&
		slices.Equal(is.ConversionReviewVersions, wanted.ConversionReviewVersions)
}

// converted tells whether a definition names the Service of a conversion, and trusts it:
// whoever opened the definition may have named the Service before anybody served.
func converted(live *apiextensionsv1.CustomResourceDefinition, c install.Conversion) bool {
	namespace, service := install.ConvertedBy(live)
	wanted := c.Spec.Webhook.ClientConfig.Service
	return namespace == wanted.Namespace && service == wanted.Name && trusts(live, c.Delegated)
}

// trusts tells whether a definition has a caBundle. It may lack one where another than the
// manager is to put it there.
func trusts(live *apiextensionsv1.CustomResourceDefinition, delegated bool) bool {
	return delegated || len(live.Spec.Conversion.Webhook.ClientConfig.CABundle) > 0
}

func (p *planner) wantConversions(conversions []install.Conversion) {
	for _, c := range conversions {
		live := p.Observed.CRDs[c.CRD]
		c = delegated(c, live)
		if live == nil || p.plans(crdKey(c.CRD)) || p.upToDate(live, c) || !c.Delegated && certgeneration.Later(trustedGeneration(live, c), c.Generation) {
			continue
		}
		p.take(conversionStep(live, c))
	}
}

// upToDate tells whether a definition is as a conversion wants it, and says so of its
// generation: until then a late write for an earlier one could come through. Who wrote the
// annotation is not asked: another client may apply the definition with the same value.
func (p *planner) upToDate(live *apiextensionsv1.CustomResourceDefinition, c install.Conversion) bool {
	is := live.Spec.Conversion.DeepCopy()
	if is != nil && is.Webhook != nil && is.Webhook.ClientConfig != nil && p.verifies(live, c) {
		is.Webhook.ClientConfig.CABundle = c.Spec.Webhook.ClientConfig.CABundle
	}
	return equality.Semantic.DeepEqual(is, &c.Spec) && annotated(live, c) &&
		(c.Delegated || notedGeneration(live) == c.Generation)
}

// verifies reports whether the caBundle that another client wrote verifies what the pods may
// serve, and trusts no CA beyond that whose trust the manager may have withdrawn.
func (p *planner) verifies(live *apiextensionsv1.CustomResourceDefinition, c install.Conversion) bool {
	has, wanted := authorities(live.Spec.Conversion.Webhook.ClientConfig.CABundle), authorities(c.Spec.Webhook.ClientConfig.CABundle)
	if len(wanted) == 0 || drift.LastWriter(live, conversionBundle) == "" {
		return false
	}
	for _, ca := range wanted {
		if !slices.ContainsFunc(has, ca.Equal) {
			return false
		}
	}
	return !slices.ContainsFunc(has, func(ca *x509.Certificate) bool {
		ofTheProvider := cmp.Or(p.Provider, managerv1alpha1.ProviderManager) != managerv1alpha1.ProviderManager || slices.Contains(ca.Subject.Organization, vocabulary.FieldManager)
		return ofTheProvider && !slices.ContainsFunc(wanted, ca.Equal)
	})
}

var conversionBundle = fieldpath.NewSet(fieldpath.MakePathOrDie("spec", "conversion", "webhook", "clientConfig", "caBundle"))

// authorities are the certificates of a caBundle that can be read.
func authorities(bundle []byte) []*x509.Certificate {
	var all []*x509.Certificate
	for block, rest := pem.Decode(bundle); block != nil; block, rest = pem.Decode(rest) {
		if ca, err := x509.ParseCertificate(block.Bytes); err == nil {
			all = append(all, ca)
		}
	}
	return all
}

// trustedGeneration is the number of the newest certificate generation that a
// definition's conversion trusts, as the manager wrote it; 0 when another client did, and
// when another Service converts it.
func trustedGeneration(live *apiextensionsv1.CustomResourceDefinition, c install.Conversion) int64 {
	if !converted(live, c) {
		return 0
	}
	return generationOf(live)
}

// conversionStep writes a conversion, and which generation it trusts; none, when it ends.
func conversionStep(live *apiextensionsv1.CustomResourceDefinition, c install.Conversion) Step {
	desired := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: live.Name, UID: live.UID, ResourceVersion: live.ResourceVersion},
		Spec:       apiextensionsv1.CustomResourceDefinitionSpec{Conversion: &c.Spec},
	}
	step := Step{Verb: Convert, Object: desired, Live: live, Drift: drift.Drift{Fields: []string{"spec.conversion"}}}
	if c.Spec.Strategy == apiextensionsv1.WebhookConverter {
		desired.Annotations = map[string]string{}
		if !c.Delegated {
			desired.Annotations[vocabulary.AnnotationGeneration] = strconv.FormatInt(c.Generation, 10)
		}
		propagate(desired, live, c)
		step.Desired = desired
		if changed := drift.Of(desired, live); !changed.None() {
			step.Drift = changed
		}
	}
	return step
}

func crdKey(name string) string {
	return drift.KeyOf(&apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// unconvertStale ends the conversions that the ClusterServiceVersion does not
// declare any more.
func (p *planner) unconvertStale() {
	ended := p.endedConversions()
	for _, step := range ended.Steps {
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

// End is how conversions come to their end.
type End struct {
	// Steps take CustomResourceDefinitions back to no conversion.
	Steps []Step
	// Count are those of which it must be known first whether they have objects.
	Count []string
	// InUse says which conversions cannot end yet, and what to do about it.
	InUse string
}

// EndConversions decides which of the CustomResourceDefinitions that are converted by
// Services of a namespace may go without. Without a conversion the API server merely
// relabels objects, and the next write in another version would drop the fields
// that this one does not have: so a definition must have no objects, or exactly
// one version, which is served and the only one stored. To force it ends them all
// the same.
func EndConversions(namespace string, services map[string]bool, crds []*apiextensionsv1.CustomResourceDefinition, objects map[string]int, force bool) End {
	var end End
	var held []string
	for _, crd := range crds {
		by, service := install.ConvertedBy(crd)
		if by != namespace || !services[service] {
			continue
		}
		switch endOf(crd, objects, force) {
		case ends:
			end.Steps = append(end.Steps, conversionStep(crd, install.Conversion{Spec: apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}}))
		case endUnknown:
			end.Count = append(end.Count, crd.Name)
		default:
			held = append(held, inUse(crd, objects[crd.Name]))
		}
	}
	end.InUse = wouldLoseFields(held)
	return end
}

// wouldLoseFields says why conversions cannot end. How many there are and the ways out come first: a
// condition shows the beginning only.
func wouldLoseFields(held []string) string {
	if len(held) == 0 {
		return ""
	}
	slices.Sort(held)
	objects := "objects"
	if len(held) > 1 {
		objects = fmt.Sprintf("objects of %d definitions", len(held))
	}
	return fmt.Sprintf("without the conversion webhook %s would lose fields: migrate or delete them, or end the conversion all the same by the annotation %s=true on the ClusterServiceVersion. %s",
		objects, vocabulary.AnnotationForceConversion, strings.Join(held, "; "))
}

// ending says whether a definition may go without its conversion.
type ending int

const (
	endUnknown ending = iota // it is not counted whether it has objects
	ends
	needed // by objects
)

func endOf(crd *apiextensionsv1.CustomResourceDefinition, objects map[string]int, force bool) ending {
	n, counted := objects[crd.Name]
	switch {
	case force || oneVersion(crd) || counted && n == 0:
		return ends
	case !counted:
		return endUnknown
	default:
		return needed
	}
}

func (in Input) endOf(crd *apiextensionsv1.CustomResourceDefinition) ending {
	return endOf(crd, in.Observed.Objects, in.CSV.Annotations[vocabulary.AnnotationForceConversion] == "true")
}

// SomeObjects is the number of a definition's objects where nobody can count them.
const SomeObjects = -1

// inUse says why a definition cannot do without its conversion, and the commands after
// which it can. How many objects are stored in which version, no API server tells.
func inUse(crd *apiextensionsv1.CustomResourceDefinition, objects int) string {
	version, others := keptVersion(crd), served(crd)
	others = slices.DeleteFunc(others, func(v string) bool { return v == version })
	why := fmt.Sprintf("%s has %s, stored in %s, and serves %s", crd.Name, counted(objects), strings.Join(storedversions.Possible(crd), " or "), strings.Join(served(crd), ", "))
	var do []string
	if !storedversions.Only(crd, version) {
		do = append(do, vocabulary.StorageMigration(crd.Name, version))
	}
	if len(others) > 0 {
		do = append(do, fmt.Sprintf("set served: false in it for %s", strings.Join(others, ", ")))
	}
	return why + ": " + strings.Join(do, ", then ")
}

func counted(objects int) string {
	switch objects {
	case SomeObjects:
		return "objects"
	case 1:
		return "1 object"
	default:
		return fmt.Sprintf("%d objects", objects)
	}
}

// keptVersion is the one that is left with least ado: the one that objects are stored in,
// if it is served.
func keptVersion(crd *apiextensionsv1.CustomResourceDefinition) string {
	kept := ""
	for _, v := range crd.Spec.Versions {
		if v.Served && (kept == "" || v.Storage) {
			kept = v.Name
		}
	}
	return kept
}

// oneVersion tells whether all objects are of the only version that is served.
func oneVersion(crd *apiextensionsv1.CustomResourceDefinition) bool {
	serves := served(crd)
	return len(serves) == 1 && storedversions.Only(crd, serves[0])
}

func served(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var versions []string
	for _, v := range crd.Spec.Versions {
		if v.Served {
			versions = append(versions, v.Name)
		}
	}
	return versions
}
