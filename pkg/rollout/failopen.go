package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/subscriptions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/registration"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/workload"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/route"
)

// FailOpen is what is known about the openings of the webhooks.
type FailOpen struct {
	// Recorded are the statuses that the API server has: that of the version, which may be empty, then those of other versions.
	Recorded []managerv1alpha1.WebhookRolloutStatus
	// Memories are what this process knows.
	Memories map[csvspec.Identity]failopen.Memory
	// Confirmed are the answers of the API server about Services in this reconciliation. A decision ignores the ones that are too old.
	Confirmed map[string]failopen.Answer
}

// opener decides which webhooks are open.
type opener struct {
	*facts
	*outcome
	registrar *registrar
	plan      *planBuilder
	allowed   map[csvspec.Identity]subscriptions.FailOpen
	recorded  []failopen.Records // of the statuses that the API server has
}

// decide gives the desired registrations of open webhooks the form of their opening. With mayOpen unset, all are closed. The
// same applies while the version is given back: afterwards, no client closes them.
func (o *opener) decide(mayOpen bool) {
	if o.Upgrade.isPending() && !mayOpen {
		return // the webhooks belong to the previous version
	}
	if mayOpen && csvspec.TakeoverOrder(o.CSV) != wellknown.TakeoverGiveBack {
		o.allowed = o.Config.FailOpen(o.CSV).ByWebhook
	}
	o.plan.FailOpen = map[csvspec.Identity]failopen.Decision{}
	o.Desired.Deployments = slices.Clone(o.Desired.Deployments)
	for i := range o.Desired.Deployments {
		d := &o.Desired.Deployments[i]
		d.Webhooks = slices.Clone(d.Webhooks)
		for j, w := range d.Webhooks {
			if isAdmission(w.Description) && w.Registration != nil {
				d.Webhooks[j] = o.opened(*d, w)
			}
		}
	}
	for _, d := range o.CSV.Spec.WebhookDefinitions {
		if _, decided := o.plan.FailOpen[csvspec.IdentityOf(d)]; isAdmission(d) && !decided {
			o.add(d, failopen.Decide(o.factsOf(d, o.liveRegistration(d))))
		}
	}
}

func isAdmission(d operatorsv1alpha1.WebhookDescription) bool {
	return d.Type == operatorsv1alpha1.ValidatingAdmissionWebhook || d.Type == operatorsv1alpha1.MutatingAdmissionWebhook
}

func (o *opener) add(d operatorsv1alpha1.WebhookDescription, decision failopen.Decision) {
	o.plan.FailOpen[csvspec.IdentityOf(d)] = decision
	o.plan.requeue(decision.RequeueAt, "an opening of a webhook")
}

// opened returns a webhook in the form of its opening.
func (o *opener) opened(d render.Deployment, w render.Webhook) render.Webhook {
	if _, decided := o.plan.FailOpen[csvspec.IdentityOf(w.Description)]; decided {
		return w // a duplicate
	}
	c := o.registrar.candidateFor(d, w, o.progressOf(d))
	f := o.factsOf(w.Description, c.live)
	if f.Settings = o.settingsOf(w); f.Settings != nil {
		f.Registered = c.live != nil && c.live.GetDeletionTimestamp() == nil && o.asDeclared(w) && o.registrar.useOf(c).kind == usedAsDesired
		_, f.Confirmed = o.answerAbout(d.Service.Name)
		if f.Registered {
			f.Backend = o.backendOf(c, f.NeedsProof())
		}
	}
	decision := failopen.Decide(f)
	o.add(w.Description, decision)
	if decision.NeedsConfirmation && !slices.Contains(o.plan.Confirm, d.Service.Name) {
		o.plan.Confirm = append(o.plan.Confirm, d.Service.Name)
	}
	opening := render.Opening{State: decision.Form}
	if f.Settings != nil && decision.Form == managerv1alpha1.FailOpenPartly {
		opening.Requests = f.Settings.Requests
	} else if f.Settings != nil {
		opening.Requests = f.Settings.AllRequests
	}
	return w.Opened(opening)
}

// factsOf returns what is known without the administrator's settings.
func (o *opener) factsOf(d operatorsv1alpha1.WebhookDescription, live drift.Object) failopen.Facts {
	f := failopen.Facts{Now: o.now, Settle: o.Policy.Settle, Record: o.recordOf(d), Memory: o.FailOpen.Memories[csvspec.IdentityOf(d)], Live: managerv1alpha1.FailOpenClosed}
	if live != nil {
		f.Live, f.LiveRequests = webhookconfig.OpenState(live), webhookconfig.OpenRequests(live)
		f.Created, f.Written = live.GetCreationTimestamp().Time, lastWrite(live)
	}
	return f
}

// lastWrite returns when any client last wrote an object, by the clock of the API server.
func lastWrite(live drift.Object) time.Time {
	last := live.GetCreationTimestamp().Time
	for _, entry := range live.GetManagedFields() {
		if entry.Time != nil {
			last = workload.Later(last, entry.Time.Time)
		}
	}
	return last
}

// recordOf returns what the statuses of the API server have: after an upgrade, also those of the other versions.
func (o *opener) recordOf(d operatorsv1alpha1.WebhookDescription) *managerv1alpha1.FailOpen {
	if o.recorded == nil {
		o.recorded = lists.Map(o.FailOpen.Recorded, failopen.RecordsOf)
	}
	records := lists.Map(o.recorded, func(all failopen.Records) *managerv1alpha1.FailOpen { return all[csvspec.IdentityOf(d)] })
	if len(records) == 0 {
		return nil
	}
	return failopen.Merged(records[0], records[1:]...)
}

// settingsOf returns nil if the webhook must not open.
func (o *opener) settingsOf(w render.Webhook) *failopen.Settings {
	allowed, may := o.allowed[csvspec.IdentityOf(w.Description)]
	if !may || o.Config.Disabled(w.Description) {
		return nil
	}
	if why := webhookconfig.CannotOpen(w.Registration); why != "" {
		o.cannotOpen = append(o.cannotOpen, fmt.Sprintf("webhook %s does not open: %s", w.Description.GenerateName, why))
		return nil
	}
	const shortest, askEvery = 30 * time.Second, 10 * time.Second
	unit := cmp.Or(o.Policy.FailOpenDivisor, 1)
	return &failopen.Settings{
		After: allowed.After / unit, AllAfter: allowed.AllAfter / unit, For: allowed.For / unit, Least: shortest / unit, AskEvery: askEvery / unit,
		Requests: render.FirstRequests(o.CSV.Namespace, allowed.Resources), AllRequests: render.RequestsAbout(allowed.Resources),
	}
}

// backendOf dials endpoints only if a proof is needed: in an outage, to prove that it is over. With each gate, a backend with a ready endpoint is
// not unreachable.
func (o *opener) backendOf(c candidate, needsProof bool) failopen.Backend {
	if o.Policy.Gate == GateAvailable && c.backend.Available {
		return failopen.Serves
	}
	service := c.deployment.Service.Name
	if answer, asked := o.answerAbout(service); asked {
		return o.answered(service, c.webhook.Port, answer)
	}
	endpoints, reason, _ := o.registrar.probes.toProbe(c.deployment, c.webhook)
	switch {
	case reason == managerv1alpha1.ReasonNoReadyEndpoints, reason == managerv1alpha1.ReasonServiceMissing && !isAnyReady(o.Observed.Slices[service]):
		return failopen.Unreachable
	case reason != "" || !needsProof || o.Policy.Gate == GateAvailable:
		return failopen.Ready
	}
	if reason, _ := o.registrar.probes.unanswered(endpoints, o.registrar.probes.probePause(c.webhook, c.backend)); reason != "" {
		return failopen.Ready
	}
	return failopen.Serves
}

// answerAbout returns the EndpointSlices of a Service that the API server has just returned.
func (o *opener) answerAbout(service string) (all []*discoveryv1.EndpointSlice, asked bool) {
	answer, asked := o.FailOpen.Confirmed[service]
	return answer.Slices, asked && answer.Counts(o.now)
}

// answered returns what the EndpointSlices prove that the API server has. The state of the webhook in the status is that of the
// caches: it does not change with each answer.
func (o *opener) answered(service string, port int32, answer []*discoveryv1.EndpointSlice) failopen.Backend {
	ready := isAnyReady(answer)
	if s := o.Observed.Services[service]; s != nil {
		ready = len(route.Behind(s, port, answer).Ready) > 0
	}
	if ready {
		return failopen.Ready
	}
	return failopen.Unreachable
}

// isAnyReady reports whether an endpoint is ready, at any port.
func isAnyReady(all []*discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(all, func(slice *discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(slice.Endpoints, route.Ready)
	})
}

// closeFirst closes registrations before each other step: a step that fails ends the plan, and another client can make a write
// fail again and again. It also closes what is not repaired. Without decisions, the webhooks belong to the previous version,
// which opens and closes them.
func (o *opener) closeFirst() {
	if o.plan.FailOpen == nil {
		return
	}
	for _, live := range o.Observed.registrations() {
		if live.Kind == csvspec.APIServiceType || webhookconfig.OpenState(live.Object) == managerv1alpha1.FailOpenClosed {
			continue
		}
		d, form := o.descriptionOf(live)
		if form != managerv1alpha1.FailOpenClosed {
			continue
		}
		closed := live.Object.DeepCopyObject().(drift.Object)
		webhookconfig.Close(closed, new(validPolicy(d)), new(validTimeout(d)))
		o.plan.addFirst(Step{Verb: Update, Object: closed, Live: live.Object, Drift: drift.Drift{Fields: []string{"webhooks.failurePolicy"}}, Desired: closed})
	}
}

// validPolicy returns the declared failurePolicy, or Fail if the API server would refuse it: an invalid one must not keep a webhook
// open.
func validPolicy(d operatorsv1alpha1.WebhookDescription) admissionregistrationv1.FailurePolicyType {
	if d.FailurePolicy != nil && *d.FailurePolicy == admissionregistrationv1.Ignore {
		return admissionregistrationv1.Ignore
	}
	return admissionregistrationv1.Fail
}

// validTimeout is validPolicy for timeoutSeconds. Without a valid one, it is the default of the API server.
func validTimeout(d operatorsv1alpha1.WebhookDescription) int32 {
	const byDefault, most = 10, 30
	if d.TimeoutSeconds != nil && *d.TimeoutSeconds >= 1 && *d.TimeoutSeconds <= most {
		return *d.TimeoutSeconds
	}
	return byDefault
}

// descriptionOf returns the description of a live registration by any version, and the form that it must have.
func (o *opener) descriptionOf(live registration.Registration) (d operatorsv1alpha1.WebhookDescription, form managerv1alpha1.FailOpenState) {
	for _, csv := range append([]*operatorsv1alpha1.ClusterServiceVersion{o.CSV}, o.Upgrade.From...) {
		for _, d := range csv.Spec.WebhookDefinitions {
			if of := csvspec.IdentityOf(d); of.Registers(live.Kind, live.Object) {
				if decision, decided := o.plan.FailOpen[of]; decided {
					return d, decision.Form
				}
				return d, managerv1alpha1.FailOpenClosed
			}
		}
	}
	return d, managerv1alpha1.FailOpenClosed
}

// failOpenOf returns the record for the status.
func (r *reporter) failOpenOf(d operatorsv1alpha1.WebhookDescription) *managerv1alpha1.FailOpen {
	if decision, decided := r.plan.FailOpen[csvspec.IdentityOf(d)]; decided {
		return decision.Record
	}
	if before := r.previousStatus(d); before != nil {
		return before.FailOpen
	}
	return nil
}

// AwaitsOpenings reports whether the status of a replaced version has openings that its successor has not recorded yet, and
// so must not be removed. The successor records only webhooks that it declares.
func AwaitsOpenings(replaced managerv1alpha1.WebhookRolloutStatus, successor *operatorsv1alpha1.ClusterServiceVersion, recorded *managerv1alpha1.WebhookRollout, now time.Time) bool {
	if successor == nil {
		return false
	}
	known := failopen.Records{}
	if recorded != nil {
		known = failopen.RecordsOf(recorded.Status)
	}
	all := failopen.RecordsOf(replaced)
	return slices.ContainsFunc(successor.Spec.WebhookDefinitions, func(d operatorsv1alpha1.WebhookDescription) bool {
		of := csvspec.IdentityOf(d)
		return failopen.Lacks(known[of], all[of], now)
	})
}
