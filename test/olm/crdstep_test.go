package olm

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// For an upgrade, catalog-operator writes the whole definition of the bundle, whose conversion has no CA, or which has no
// conversion. Reads fail only while the definition lacks the conversion of the manager, which the WebhookRollouts report.
func TestDefinitionOfAnUpgrade(t *testing.T) {
	for name, edit := range map[string]func(*catalog.Bundle){
		"a conversion without a CA": func(*catalog.Bundle) {},
		"no conversion":             withoutConversion,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, "crdconversion", operatorsv1.OperatorGroupSpec{})
			v1 := e.example("crdconversion/bundle-v2")
			edit(&v1)
			v2 := v1.Release("2.1.0")
			e.serve(catalog.Package{
				Name: v1.Package, DefaultChannel: "new", Bundles: []catalog.Bundle{v1, v2},
				Channels: []catalog.Channel{catalog.Chain("old", v1), catalog.Chain("new", v1, v2)},
			})
			client := &caches.Client{Dynamic: dynamicClient, Namespace: "default"}
			e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: "old"})
			e.installs(v1.Package, v1.Name())
			e.Cleanup(func() { removeCaches(e, client) })
			createCache(e, client, caches.New(convert.V1, "sessions", map[string]any{"size": "3x512Mi"}))

			load := calls.Start(t, between, client.Reads(t, caches.Authored, caches.Versions, "sessions"))
			load.GoesOn(calls.Converted)
			gaps := e.watchGaps()
			e.changes(v1.Package, map[string]any{"channel": "new"})
			e.installs(v1.Package, v2.Name())
			e.isGone(v1.Name())
			load.GoesOn(calls.Converted)
			reported := gaps()
			for _, gap := range reported {
				t.Logf("%v went without their conversion for %s, by %q", gap.CRDs, gap.EndTime.Sub(gap.StartTime.Time), gap.By)
			}
			load.End(during(reported))
		})
	}
}

func withoutConversion(b *catalog.Bundle) {
	for _, o := range b.Others {
		unstructured.RemoveNestedField(o.Object, "spec", "conversion")
	}
}

// watchGaps records the gaps that the WebhookRollouts of the versions report from now on. A WebhookRollout is deleted
// with its version.
func (e *env) watchGaps() (recorded func() []managerv1alpha1.ConversionGap) {
	e.Helper()
	watch := kube.Watch(e, olmClient.WebhookRollouts(e.namespace), metav1.ListOptions{})
	ended := make(chan struct{})
	var gaps []managerv1alpha1.ConversionGap
	go func() {
		defer close(ended)
		for event := range watch.ResultChan() {
			if rollout, ok := event.Object.(*managerv1alpha1.WebhookRollout); ok {
				gaps = append(gaps, gapsOf(rollout.Status)...)
			}
		}
	}()
	return func() []managerv1alpha1.ConversionGap {
		watch.Stop()
		<-ended
		return gaps
	}
}

func gapsOf(status managerv1alpha1.WebhookRolloutStatus) (gaps []managerv1alpha1.ConversionGap) {
	for _, d := range status.Deployments {
		for _, w := range d.Webhooks {
			if w.LastGap != nil && w.LastGap.EndTime != nil {
				gaps = append(gaps, *w.LastGap)
			}
		}
	}
	return gaps
}

// learns is how long an API server may take to learn of a change of a definition.
const learns = time.Second

// during excuses calls during a gap.
func during(gaps []managerv1alpha1.ConversionGap) func(calls.Call) bool {
	return func(c calls.Call) bool {
		return slices.ContainsFunc(gaps, func(gap managerv1alpha1.ConversionGap) bool {
			return c.Outcome == calls.Failed && c.Answered.After(gap.StartTime.Add(-learns)) && c.Sent.Before(gap.EndTime.Add(learns))
		})
	}
}
