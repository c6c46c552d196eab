package rollout

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/owners"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
)

// gapOf is the last time in which definitions went without a conversion webhook that they
// had before. It begins when the status still tells of a live conversion, and ends with
// the first look that finds it back.
func (p *planner) gapOf(d operatorsv1alpha1.WebhookDescription) *managerv1alpha1.ConversionGap {
	before := p.before(d)
	if before == nil {
		return nil
	}
	lost := p.lost(d)
	open := before.LastGap != nil && before.LastGap.To == nil
	switch {
	case open && len(lost) == 0:
		closed := before.LastGap.DeepCopy()
		closed.To = new(micro(p.now))
		return closed
	case !open && len(lost) > 0 && isRegistered(*before):
		return p.beganGap(lost, *before)
	default:
		return before.LastGap
	}
}

// lost are the definitions that no Service of the ClusterServiceVersion's Namespace converts.
func (p *planner) lost(d operatorsv1alpha1.WebhookDescription) (lost []*apiextensionsv1.CustomResourceDefinition) {
	for _, name := range d.ConversionCRDs {
		if live := p.Observed.CRDs[name]; live != nil && !p.convertedHere(live) {
			lost = append(lost, live)
		}
	}
	return lost
}

// convertedHere goes by the definition alone: a Service that is handed over, or made again,
// is missing for a moment, and makes no gap.
func (p *planner) convertedHere(crd *apiextensionsv1.CustomResourceDefinition) bool {
	namespace, _ := owners.ConvertedBy(crd)
	return namespace == p.CSV.Namespace && conversion.HasBundle(crd, p.Provider == managerv1alpha1.ProviderNone)
}

// beganGap is a gap that was just found. Its beginning is the write that made it, as far
// as the definition tells, but not before the conversion was last known to be there.
func (p *planner) beganGap(lost []*apiextensionsv1.CustomResourceDefinition, before managerv1alpha1.WebhookStatus) *managerv1alpha1.ConversionGap {
	gap := &managerv1alpha1.ConversionGap{From: micro(p.now)}
	for _, crd := range lost {
		gap.CRDs = append(gap.CRDs, crd.Name)
		by, at := conversion.LastOtherWriter(crd)
		if at.IsZero() || before.Since != nil && at.Before(before.Since.Time) || !at.Before(gap.From.Time) {
			continue
		}
		gap.By, gap.From = by, micro(at)
	}
	slices.Sort(gap.CRDs)
	return gap
}

// micro is an instant as a status can hold it.
func micro(t time.Time) metav1.MicroTime { return metav1.NewMicroTime(t.Truncate(time.Microsecond)) }
