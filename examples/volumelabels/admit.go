package main

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/volumelabels/labelling"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
)

type labeller struct {
	provider provider
}

// admit adds the labels that a PersistentVolume lacks. If the provider fails, admit fails, and the
// registration's failurePolicy decides. An unknown volume is no failure: it may stay unknown.
func (l labeller) admit(ctx context.Context, r hosting.Request[*corev1.PersistentVolume]) error {
	pv := r.Object
	volume, ok := labelling.VolumeOf(pv)
	if !ok {
		return nil
	}
	known, found, err := l.provider.Labels(ctx, volume)
	if err != nil {
		return fmt.Errorf("looking up %s: %w", volume, err)
	}
	if !found {
		r.Warn("not labelled: nothing is known of %s", volume)
		return nil
	}
	missing, warnings := labelling.Compare(pv, known)
	for _, warning := range warnings {
		r.Warn("%s", warning)
	}
	if pv.Labels == nil {
		pv.Labels = map[string]string{}
	}
	maps.Copy(pv.Labels, missing)
	return nil
}
