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

func microTime(t time.Time) metav1.MicroTime {
	return metav1.NewMicroTime(t.Truncate(time.Microsecond))
}

// gapOf returns the last period without the conversion webhook. It starts when the previous status
// reports a live conversion, and ends with the reconciliation that observes it again.
func (f *facts) gapOf(d operatorsv1alpha1.WebhookDescription) *managerv1alpha1.ConversionGap {
	before := f.previousStatus(d)
	if before == nil {
		return nil
	}
	lost := f.withoutConversion(d)
	open := before.LastGap != nil && before.LastGap.To == nil
	switch {
	case open && len(lost) == 0:
		closed := before.LastGap.DeepCopy()
		closed.To = new(microTime(f.now))
		return closed
	case !open && len(lost) > 0 && isRegistered(*before):
		return f.newGap(lost, *before)
	default:
		return before.LastGap
	}
}

// newGap returns a gap that starts with the write that removed the conversion, if field ownership
// shows it, but not before the conversion was last observed.
func (f *facts) newGap(lost []*apiextensionsv1.CustomResourceDefinition, before managerv1alpha1.WebhookStatus) *managerv1alpha1.ConversionGap {
	gap := &managerv1alpha1.ConversionGap{From: microTime(f.now)}
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
