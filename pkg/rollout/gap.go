package rollout

import (
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/conversion"
)

// microTime is an instant as a status can hold it.
func microTime(t time.Time) metav1.MicroTime {
	return metav1.NewMicroTime(t.Truncate(time.Microsecond))
}

// gapOf is the last time in which definitions went without a conversion webhook that they
// had before. It begins when the status still tells of a live conversion, and ends with
// the first look that finds it back.
func (cs *conversions) gapOf(d operatorsv1alpha1.WebhookDescription) *managerv1alpha1.ConversionGap {
	before := cs.previousStatus(d)
	if before == nil {
		return nil
	}
	lost := cs.withoutConversion(d)
	open := before.LastGap != nil && before.LastGap.To == nil
	switch {
	case open && len(lost) == 0:
		closed := before.LastGap.DeepCopy()
		closed.To = new(microTime(cs.now))
		return closed
	case !open && len(lost) > 0 && isRegistered(*before):
		return cs.newGap(lost, *before)
	default:
		return before.LastGap
	}
}

// newGap is a gap that was just found. Its beginning is the write that made it, as far
// as the definition tells, but not before the conversion was last known to be there.
func (cs *conversions) newGap(lost []*apiextensionsv1.CustomResourceDefinition, before managerv1alpha1.WebhookStatus) *managerv1alpha1.ConversionGap {
	gap := &managerv1alpha1.ConversionGap{From: microTime(cs.now)}
	for _, crd := range lost {
		gap.CRDs = append(gap.CRDs, crd.Name)
		by, at := conversion.LastOtherWriter(crd)
		if at.IsZero() || before.Since != nil && at.Before(before.Since.Time) || !at.Before(gap.From.Time) {
			continue
		}
		gap.By, gap.From = by, microTime(at)
	}
	slices.Sort(gap.CRDs)
	return gap
}
