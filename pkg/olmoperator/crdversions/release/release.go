// Package release decides when a change of a CustomResourceDefinition that its policy holds is made.
package release

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/heldversions"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/storedversions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/phase"
)

// Operator is a ClusterServiceVersion that owns or converts a definition.
type Operator struct {
	CSV *operatorsv1alpha1.ClusterServiceVersion
	// Status is that of its WebhookRollout; empty without one.
	Status managerv1alpha1.WebhookRolloutStatus
	// UnreadySince is since when its conversion webhook may wait for a version; zero if it does not.
	UnreadySince time.Time
}

// Facts are the inputs of a decision.
type Facts struct {
	CRD       *apiextensionsv1.CustomResourceDefinition
	Operators []Operator
	// MissingSince is since when a ClusterServiceVersion that brings the change does not exist; zero if all exist.
	MissingSince time.Time
	// Patience is how long the pods of a conversion webhook may run without being ready before the versions are served
	// that they may wait for.
	Patience time.Duration
}

// Change is what is written. The zero Change writes nothing.
type Change struct {
	Serve   []string                                  // versions to serve
	Store   string                                    // the version to store objects in; empty for no change
	Convert *apiextensionsv1.CustomResourceConversion // nil for no change
	// Held is what stays held.
	Held heldversions.Held
	// Stale is set if the annotations list what is not held any more.
	Stale bool
	// For is the ClusterServiceVersion that the change is reported on; nil for none.
	For *operatorsv1alpha1.ClusterServiceVersion
	// Early is the Deployment that may wait for Serve, before its webhook converts; empty if it converts.
	Early string
	// Unconverted is set if no webhook has to convert.
	Unconverted bool
}

// None reports whether nothing is written.
func (c Change) None() bool {
	return len(c.Serve) == 0 && c.Store == "" && c.Convert == nil && !c.Stale
}

// Message describes what API servers do after the change.
func (c Change) Message(crd string) string {
	var parts []string
	if len(c.Serve) > 0 {
		parts = append(parts, "serves "+strings.Join(c.Serve, ", "))
	}
	if c.Store != "" {
		parts = append(parts, "stores objects in "+c.Store)
	}
	if c.Convert != nil && c.Early == "" {
		parts = append(parts, "has the conversion webhook of the bundle")
	}
	return fmt.Sprintf("CustomResourceDefinition %s %s: %s", crd, strings.Join(parts, " and "), c.why())
}

func (c Change) why() string {
	switch {
	case c.Early != "":
		return fmt.Sprintf("Deployment %s may be waiting for it. Requests in it fail until the conversion webhook serves", c.Early)
	case c.Unconverted:
		return "no ClusterServiceVersion declares a conversion webhook"
	default:
		return "the conversion webhook serves"
	}
}

// missingLasts is how long a ClusterServiceVersion may be missing: its InstallPlan creates it after the definition. One
// that was uninstalled stays in the annotations of the definition.
const missingLasts = 5 * time.Minute

// Decide returns the next change, and when to decide again if nothing else changes; zero for never.
func Decide(f Facts, now time.Time) (Change, time.Time) {
	d := decision{Facts: f, held: heldversions.Of(f.CRD), now: now}
	if end := f.MissingSince.Add(missingLasts); !f.MissingSince.IsZero() && now.Before(end) {
		d.missing, d.again = true, end
	}
	change, again := d.decide()
	again = earlier(again, d.again)
	change.Held = d.remaining(change)
	change.Stale = change.None() && d.isStale(change.Held)
	return change, again
}

type decision struct {
	Facts
	held    heldversions.Held
	now     time.Time
	missing bool      // a ClusterServiceVersion that brings the change may exist soon
	again   time.Time // when it does not any more
}

func (d decision) decide() (Change, time.Time) {
	if d.needsNoConverter() {
		return Change{Serve: d.held.Versions, Store: d.held.Storage, Convert: d.held.Conversion, For: d.bringer(), Unconverted: true}, time.Time{}
	}
	change, again := Change{}, time.Time{}
	for _, v := range d.held.Versions {
		for _, o := range d.Operators {
			if !d.brings(o, v) {
				continue
			}
			ready, early, at := d.ready(o)
			if !ready {
				again = earlier(again, at)
				continue
			}
			change.Serve, change.For, change.Early = append(change.Serve, v), o.CSV, early
			break
		}
	}
	if change.Early != "" && !d.converted() {
		change.Convert = csvspec.PendingConversion(change.For, d.CRD)
	}
	if store := d.held.Storage; slices.Contains(storedversions.Served(d.CRD), store) && slices.ContainsFunc(d.Operators, func(o Operator) bool { return d.brings(o, store) && d.hasSucceeded(o) }) {
		change.Store = store
	}
	return change, again
}

// needsNoConverter reports whether no webhook converts the definition, and no ClusterServiceVersion of it declares one. One
// that is being replaced does not count, nor does the policy know one that does not exist yet.
func (d decision) needsNoConverter() bool {
	return !d.converted() && !d.missing && !slices.ContainsFunc(d.Operators, func(o Operator) bool {
		return csvspec.Converts(o.CSV, d.CRD.Name) >= 0 && !d.isReplaced(o) && d.isOfBringer(o)
	})
}

// isOfBringer reports whether a ClusterServiceVersion is in a namespace for which the change is held. A claim from another
// namespace holds nothing: a client that may create a ClusterServiceVersion can claim each definition.
func (d decision) isOfBringer(o Operator) bool {
	return len(d.held.For) == 0 || slices.ContainsFunc(d.held.For, func(csv types.NamespacedName) bool { return csv.Namespace == o.CSV.Namespace })
}

func (d decision) isReplaced(o Operator) bool {
	return phase.IsReplaced(o.CSV.Status.Phase) || slices.ContainsFunc(d.Operators, func(other Operator) bool {
		return other.CSV.Namespace == o.CSV.Namespace && other.CSV.Spec.Replaces == o.CSV.Name
	})
}

func (d decision) bringer() *operatorsv1alpha1.ClusterServiceVersion {
	for _, o := range d.Operators {
		if slices.Contains(d.held.For, nameOf(o.CSV)) {
			return o.CSV
		}
	}
	return nil
}

// converted reports whether API servers call a webhook with a CA.
func (d decision) converted() bool {
	c := d.CRD.Spec.Conversion
	return c != nil && c.Strategy == apiextensionsv1.WebhookConverter && c.Webhook != nil && c.Webhook.ClientConfig != nil &&
		(c.Webhook.ClientConfig.URL != nil || len(c.Webhook.ClientConfig.CABundle) > 0)
}

// brings reports whether the webhook of an operator supports a version: the operator owns the version, or an InstallPlan
// brought the version for it.
func (d decision) brings(o Operator, version string) bool {
	owns := slices.ContainsFunc(o.CSV.Spec.CustomResourceDefinitions.Owned, func(c operatorsv1alpha1.CRDDescription) bool {
		return c.Name == d.CRD.Name && c.Version == version
	})
	return csvspec.Converts(o.CSV, d.CRD.Name) >= 0 && (owns || !d.missing && slices.Contains(d.held.For, nameOf(o.CSV)))
}

// ready reports whether versions of an operator can be served. early is the Deployment that may wait for them.
func (d decision) ready(o Operator) (ready bool, early string, again time.Time) {
	if d.isLive(o) {
		return true, "", time.Time{}
	}
	early = conversion.UnreadyConverter(o.Status, d.CRD.Name)
	if early == "" || o.UnreadySince.IsZero() {
		return false, "", time.Time{}
	}
	if at := o.UnreadySince.Add(d.Patience); at.After(d.now) {
		return false, "", at
	}
	return true, early, time.Time{}
}

func (d decision) isLive(o Operator) bool {
	namespace, _ := owners.ConvertedBy(d.CRD)
	return o.Status.ObservedGeneration == o.CSV.Generation && conversion.Converts(o.Status, d.CRD) && namespace == o.CSV.Namespace
}

func (d decision) hasSucceeded(o Operator) bool {
	return d.isLive(o) && o.CSV.Status.Phase == operatorsv1alpha1.CSVPhaseSucceeded
}

// remaining returns what stays held. A conversion of a bundle is not needed any more if another one is written.
func (d decision) remaining(c Change) heldversions.Held {
	left := d.held
	left.Versions = slices.DeleteFunc(slices.Clone(d.held.Versions), func(v string) bool { return slices.Contains(c.Serve, v) })
	if c.Store != "" {
		left.Storage = ""
	}
	if c.Convert != nil || d.converted() {
		left.Conversion = nil
	}
	return left
}

// isStale reports whether an annotation lists nothing, or what is not held any more.
func (d decision) isStale(left heldversions.Held) bool {
	return heldversions.Annotated(d.CRD) && !maps.Equal(left.Annotations(), heldversions.AnnotationsOf(d.CRD))
}

func nameOf(csv *operatorsv1alpha1.ClusterServiceVersion) types.NamespacedName {
	return types.NamespacedName{Namespace: csv.Namespace, Name: csv.Name}
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
