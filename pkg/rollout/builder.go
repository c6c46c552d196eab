package rollout

import (
	"cmp"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
)

type planBuilder struct {
	*facts
	Plan
	admitted []string          // what admission changed, one message for each object
	stays    map[string]string // why API servers continue to call registrations that have to be deleted, by key
}

// repeatPause is the pause before the result of a repeated write is read.
const repeatPause = time.Second

// ensure reports whether a write is necessary and possible.
func (b *planBuilder) ensure(desired, live drift.Object) bool {
	if b.isRebound(desired, live) {
		return false
	}
	step, ok := b.Observed.stepTo(b.Upgrade.withLiveOwners(desired, live), live)
	if !ok && step.Verb == "" && !step.Drift.None() {
		b.admitted = append(b.admitted, drift.AdmissionMessage(step.Key(), step.Drift))
	}
	return ok && b.add(step)
}

func (b *planBuilder) ensureAlways(desired, live drift.Object) { b.ensure(desired, live) }

// addUnlessAccepted omits writes that only revert accepted changes of admission.
func (b *planBuilder) addUnlessAccepted(steps ...Step) {
	for _, step := range steps {
		if step.Desired != nil && step.Live != nil && b.Observed.Writes[step.Key()].Accepts(step.Desired, step.Live, drift.Compare(step.Desired, step.Live)) {
			b.admitted = append(b.admitted, drift.AdmissionMessage(step.Key(), step.Drift))
			continue
		}
		b.add(step)
	}
}

// add skips a step that was refused, that adds to a reserved or occupied API group, or that is contested.
func (b *planBuilder) add(step Step) bool {
	if b.Observed.refuses(step) || step.Verb != Delete && b.Observed.isReserved(step.Object) || b.Observed.isOccupied(step) {
		return false
	}
	step, ok := b.Observed.unlessContested(step, b.now)
	if !ok {
		return false
	}
	if step.Repeated {
		b.requeue(b.now.Add(repeatPause), "a write was repeated") // no watch reports a write that admission reverts
	}
	b.Steps = append(b.Steps, step)
	return true
}

// addFirst adds a step before the others. It replaces another write of the object, which the API server may refuse: the next plan
// has what else differs. A deletion stays, and is repeated if the API server reports that the object has changed.
func (b *planBuilder) addFirst(step Step) {
	key, others := step.Key(), b.Steps
	if len(others) > 0 && others[0].Key() == key && others[0].Verb == Delete {
		return
	}
	b.Steps = nil
	if b.add(step) {
		others = slices.DeleteFunc(others, func(s Step) bool { return s.Key() == key && s.Verb != Delete })
	}
	b.Steps = append(b.Steps, others...)
}

func (b *planBuilder) delete(live drift.Object) bool {
	return b.add(Step{Verb: Delete, Object: live, Live: live})
}

// unregister reports whether the plan deletes a registration. API servers continue to call one that stays.
func (b *planBuilder) unregister(live drift.Object) bool {
	key, kept, deletes := drift.KeyOf(live), registration.KeptByFinalizers(live), b.delete(live)
	if deletes { // It is not written first.
		b.Steps = slices.DeleteFunc(b.Steps, func(s Step) bool { return s.Key() == key && s.Verb != Delete })
	}
	switch {
	case deletes && kept == "":
	case deletes, live.GetDeletionTimestamp() != nil:
		b.stays[key] = cmp.Or(kept, key+" is being deleted")
	default:
		b.stays[key] = cmp.Or(b.Observed.Refused[key], b.Observed.Contests[key].Message(key, b.now))
	}
	return deletes
}

func (b *planBuilder) resyncVolumes() {
	for _, pod := range b.ResyncPods {
		b.add(Step{Verb: ResyncVolumes, Object: pod, Live: pod})
	}
}

// requeue requests a reconciliation at a time in the future. The earliest one wins.
func (b *planBuilder) requeue(at time.Time, reason string) {
	if at.After(b.now) {
		b.Requeue = b.Requeue.Earliest(Requeue{at, reason})
	}
}

func (b *planBuilder) writes(key string) bool {
	return slices.ContainsFunc(b.Steps, func(s Step) bool { return s.Key() == key })
}

// probe adds an endpoint to dial. Several webhooks can have the same endpoint.
func (b *planBuilder) probe(e backends.Endpoint) {
	if !slices.Contains(b.Probes, e) {
		b.Probes = append(b.Probes, e)
	}
}

// Pods mount the Secret, and registrations trust it.
func (b *planBuilder) writeSecret(deployment string) {
	if step := b.Secrets[deployment]; step != nil {
		b.add(*step)
	}
}

// A server of APIServices authenticates its callers by these roles.
func (b *planBuilder) ensureDelegation(d render.Deployment) {
	if d.AuthDelegator != nil {
		b.ensureBinding(d.AuthDelegator, lookUp(b.Observed.AuthDelegators, d.AuthDelegator.Name), b.ensureAlways)
		b.ensureBinding(d.AuthReader, lookUp(b.Observed.AuthReaders, d.AuthReader.Name), b.ensureAlways)
	}
}

// Pods must find the OperatorCondition when they start.
func (b *planBuilder) ensureOperatorCondition() {
	c := b.Desired.Condition
	if c == nil {
		return
	}
	if b.Condition != nil {
		b.addUnlessAccepted(*b.Condition)
	}
	b.ensureGrant(c.Role, c.RoleBinding, b.ensureAlways)
}

func (b *planBuilder) ensureConversions(conversions []render.Conversion) {
	for _, c := range conversions {
		live := b.Observed.CRDs[c.CRD]
		c = conversion.WithLiveBundle(c, live)
		if b.Observed.Forbidden[crdKey(c.CRD)] != "" && conversion.Calls(live, c) {
			c = conversion.WithLiveCall(c, live)
		}
		if live == nil || b.writes(crdKey(c.CRD)) || b.upToDate(live, c) || !c.Delegated && certgeneration.Later(conversion.TrustedGeneration(live, c), c.Generation) {
			continue
		}
		b.add(conversionStep(live, c))
	}
}

// A later generation was written by a manager with newer facts. Each Secret counts its own generations. While another
// client reverts other fields, or the installer may not write them, only the trust is written: pods may be given another
// certificate meanwhile.
func (b *planBuilder) ensureRegistration(desired, live drift.Object) {
	sameService := registration.CallSameService(desired, live)
	if registration.TrustsLater(live, desired) && sameService || b.ensure(b.Observed.withLiveSelector(desired, live), live) {
		return
	}
	contest, forbidden := b.Observed.Contests[drift.KeyOf(live)], b.Observed.Forbidden[drift.KeyOf(live)] != ""
	if sameService && (forbidden || !contest.BlockedUntil(b.now).IsZero()) && !contest.BlocksTrust(live, b.now) {
		b.ensureTrust(desired, live)
	}
}

// ensureTrustOnly is for a registration that is not repaired, or that stays although it has to be deleted.
func (b *planBuilder) ensureTrustOnly(w render.Webhook, live drift.Object) {
	if !w.Delegated && !b.writes(drift.KeyOf(live)) && registration.CallSameService(w.Registration, live) {
		b.ensureTrust(w.Registration, live)
	}
}

// ensureTrust also records the generation, so that a late write for an earlier generation fails. A live registration that is
// open, or has to be, is opened or closed.
func (b *planBuilder) ensureTrust(desired, live drift.Object) {
	said := registration.AnnotatedGeneration(live) == registration.AnnotatedGeneration(desired)
	opened := registration.WithOpening(live, desired)
	if said && registration.HaveBundle(live, registration.BundleOf(desired)) && opened == live || registration.TrustsLater(live, desired) {
		return
	}
	trusting := registration.WithBundle(opened, registration.BundleOf(desired))
	copyAnnotations(trusting, desired, wellknown.AnnotationGeneration)
	changed := drift.Drift{Fields: []string{"webhooks.clientConfig.caBundle"}, By: drift.BundleWriter(live)}
	if _, api := live.(*apiregistrationv1.APIService); api {
		changed.Fields = []string{"spec.caBundle"}
	}
	if opened != live {
		changed = drift.Drift{Fields: []string{"webhooks.failurePolicy"}}
	}
	b.add(Step{Verb: Update, Object: trusting, Live: live, Drift: changed, Desired: trusting})
}

// changeDeployment creates or changes a Deployment, and reports whether the plan changes a live one. If the installer may not
// change it, its pods are still restarted for their certificate.
func (b *planBuilder) changeDeployment(desired, live *appsv1.Deployment) bool {
	if live == nil {
		b.ensure(desired, nil)
		return false
	}
	changes := b.ensure(desired, live)
	if !changes && b.Observed.Forbidden[drift.KeyOf(live)] != "" {
		b.restartPods(desired, live)
	}
	return changes
}

var restartAnnotations = []string{wellknown.AnnotationCAHash, wellknown.AnnotationRestartedFor}

// restartPods restarts the pods of a Deployment for a certificate that they do not reload.
func (b *planBuilder) restartPods(desired, live *appsv1.Deployment) {
	restarted := live.DeepCopy()
	copyAnnotations(&restarted.Spec.Template, &desired.Spec.Template, restartAnnotations...)
	if !maps.Equal(restarted.Spec.Template.Annotations, live.Spec.Template.Annotations) {
		if desired.Spec.Template.Labels[wellknown.LabelCSV] == "" { // olm-operator's form includes the CA
			restarted.Labels = labels.Merge(restarted.Labels, labels.Set{wellknown.LabelDeploymentHash: desired.Labels[wellknown.LabelDeploymentHash]})
		}
		b.add(Step{Verb: Update, Object: restarted, Live: live, Drift: drift.Drift{Fields: []string{"spec.template.metadata.annotations"}}, Desired: restarted})
	}
}

// The Deployment is not rolled out. live is nil if it is absent.
func (b *planBuilder) ensureCertificate(d render.Deployment, live *appsv1.Deployment) {
	if step := b.Secrets[d.Object.Name]; step != nil && !b.writes(step.Key()) {
		b.writeSecret(d.Object.Name)
	}
	if live != nil && !b.writes(drift.KeyOf(live)) {
		b.restartPods(d.Object, live)
	}
}

// repair keeps the owners of a maintained object, which can be several versions.
func (b *planBuilder) repair(declared bool, desired, live drift.Object) {
	if b.writes(drift.KeyOf(desired)) {
		return
	}
	if live == nil {
		b.ensure(desired, nil)
		return
	}
	if !declared || b.isRebound(desired, live) {
		return
	}
	kept := desired.DeepCopyObject().(drift.Object)
	kept.SetOwnerReferences(live.GetOwnerReferences())
	if step, differs := b.Observed.stepTo(kept, live); differs {
		b.add(step)
	}
}

// A change in the ClusterServiceVersion waits until the requirements are met.
func (b *planBuilder) ensureUnlessChanged(declared bool, desired, live drift.Object) {
	if declared || live == nil {
		b.ensure(desired, live)
	}
}

type annotatedObject interface {
	GetAnnotations() map[string]string
	SetAnnotations(map[string]string)
}

func copyAnnotations(to, from annotatedObject, keys ...string) {
	annotations := labels.Merge(to.GetAnnotations(), nil)
	for _, key := range keys {
		if value, ok := from.GetAnnotations()[key]; ok {
			annotations[key] = value
		}
	}
	to.SetAnnotations(annotations)
}
