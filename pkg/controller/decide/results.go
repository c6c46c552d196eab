package decide

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/permissions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/ending"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/failopen"
)

// Results are what a reconciliation has learned since its facts were gathered.
type Results struct {
	Learned []Result // in this order
	Answers Answers
}

// Result is one result of a step, a probe or a read. The next decisions are made with it.
type Result interface{ addTo(d *decision) }

// Minted is a new generation for a Secret.
type Minted struct {
	Secret     string
	Generation certs.Generation
}

func (r Minted) addTo(d *decision) { d.minted[r.Secret] = r.Generation }

// SecretRead is a Secret as the API server has it; nil if it does not exist.
type SecretRead struct {
	Name   string
	Secret *corev1.Secret
}

func (r SecretRead) addTo(d *decision) { d.secrets[r.Name] = r.Secret }

// Occupied is an object that has the name of an object to create.
type Occupied struct {
	Step     rollout.Step
	Existing drift.Object
	// Services are the names of the Services in the plan, by Deployment.
	Services map[string]string
}

func (r Occupied) addTo(d *decision) {
	if permissions.IsLifted(r.Step.Object) {
		d.learnLifted(r.Step.Object, r.Existing)
		return
	}
	d.learn(r.Existing, r.Services)
}

// Refused is a step that the API server did not accept.
type Refused struct {
	Step rollout.Step
	Why  string
	// Unanswered is set if a webhook that must review the step did not answer.
	Unanswered bool
	// Forbidden is set if the installer lacks a permission. The manager still writes trust.
	Forbidden bool
}

func (r Refused) addTo(d *decision) {
	key := r.Step.Key()
	d.Observed.Refused[key], d.Observed.DeletionRefused[key] = r.Why, r.Step.Verb == rollout.Delete
	if r.Step.Verb == rollout.Delete {
		d.Observed.Undeletable[key] = true
	}
	if r.Forbidden {
		d.Observed.Forbidden[key] = r.Why
	} else {
		delete(d.Observed.Forbidden, key) // The manager was refused, too.
	}
	switch {
	case r.Unanswered:
		d.Observed.Unanswered[key] = true
	case permissions.IsLifted(r.Step.Object):
		d.notLifted[key] = r.Why
	}
}

// Written is the object that the API server returned for a step.
type Written struct {
	Step   rollout.Step
	Object drift.Object
	Write  drift.Write // if the step has a desired object
	At     time.Time
}

func (r Written) addTo(d *decision) {
	key := r.Step.Key()
	switch {
	case r.Step.Verb == rollout.Delete:
		if !d.Observed.Writes[key].RefusesGrant() { // as the record has it
			delete(d.Observed.Writes, key)
		}
		if r.Step.Drift.By == drift.ByCreation || r.Step.Drift.By == drift.ByConflict {
			d.Observed.Contests[key] = d.Observed.Contests[key].Repaired(r.Step.Drift, r.At)
		}
	case r.Step.Desired != nil:
		d.Observed.Writes[key] = r.Write
	}
	if _, dynamic := r.Object.(*unstructured.Unstructured); dynamic {
		return
	}
	switch {
	case r.Step.Fields != nil:
		d.patched[key] = true
		if csv, ok := r.Object.(*operatorsv1alpha1.ClusterServiceVersion); ok {
			d.CSV = csv
		}
	case permissions.IsLifted(r.Step.Object):
		d.replaceLifted(r.Step, r.Object)
	}
	if secret, ok := r.Object.(*corev1.Secret); ok {
		d.secrets[secret.Name] = secret
		if r.Step.Verb == rollout.Delete {
			d.secrets[secret.Name] = nil
		}
	}
	if r.Step.Verb == rollout.Create && drift.IsRegistration(r.Object) {
		d.Observed.CreationTimes[r.Object.GetUID()] = r.At
	}
}

// Accepted is a difference from the desired object that a dry run shows to be made by admission.
type Accepted struct {
	Key   string
	Write drift.Write
}

func (r Accepted) addTo(d *decision) { d.Observed.Writes[r.Key] = r.Write }

// Completed is a plan that created all its objects. The next decision continues as if the caches showed them.
type Completed struct {
	Plan    Plan
	Created []drift.Object
	At      time.Time
}

func (r Completed) addTo(d *decision) {
	for _, o := range r.Created {
		d.learn(o, r.Plan.Services)
		d.Observed.JustCreated[drift.KeyOf(o)] = true
	}
	csv, at := *d.CSV, metav1.NewTime(r.At)
	csv.Status = *d.CSV.Status.DeepCopy()
	for _, p := range r.Plan.Phases {
		csv.SetPhase(p.Phase, p.Reason, p.Message, &at)
	}
	d.CSV, d.Status = &csv, r.Plan.Status
}

// Probed are the answers of endpoints.
type Probed map[backends.Endpoint]backends.Answer

func (r Probed) addTo(d *decision) { maps.Copy(d.Observed.Answers, r) }

// Counted are the numbers of objects of CustomResourceDefinitions.
type Counted map[string]int

func (r Counted) addTo(d *decision) { maps.Copy(d.Observed.ObjectCounts, r) }

// Confirmed are the answers of the API server about Services. A newer one replaces an older one.
type Confirmed map[string]failopen.Answer

func (r Confirmed) addTo(d *decision) { maps.Copy(d.confirmed, r) }

type trusted struct {
	secret string
	Trust
}

func (r trusted) addTo(d *decision) {
	d.secrets[r.secret] = r.Secret
	d.Observed.Validating = owners.Proven(d.Ownership, r.Validating)
	d.Observed.Mutating = owners.Proven(d.Ownership, r.Mutating)
	d.Observed.APIServices = owners.Proven(d.Ownership, r.APIServices)
	d.Observed.CRDs = r.CRDs
	for _, o := range r.Unlabelled {
		if d.Ownership.Registers(o) && !d.adopter().IsTakenOver(o) {
			d.learn(o, nil)
		}
	}
}

// HaveObserved is what API servers have observed.
type HaveObserved ending.Found

func (r HaveObserved) addTo(d *decision) { d.haveObserved = (*ending.Found)(&r) }
