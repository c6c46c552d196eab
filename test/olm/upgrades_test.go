package olm

import (
	"testing"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

const stable = "stable"

// packageOf has the versions in one channel.
func packageOf(channel catalog.Channel, versions ...catalog.Bundle) catalog.Package {
	return catalog.Package{Name: versions[0].Package, DefaultChannel: channel.Name, Channels: []catalog.Channel{channel}, Bundles: versions}
}

// The ways in which a channel leads from an installed version to the newest one: only the versions on the way are ever
// installed, and no call fails.
func TestUpgradesOfAChannel(t *testing.T) {
	for name, test := range map[string]struct {
		entries func(v1, v2, v3 string) []catalog.Entry
		passes  []string // versions on the way
	}{
		"replaces": {
			entries: func(v1, v2, v3 string) []catalog.Entry {
				return []catalog.Entry{{Name: v1}, {Name: v2, Replaces: v1}, {Name: v3, Replaces: v2}}
			},
			passes: []string{"volumelabels.v0.2.0"},
		},
		"skips": {
			entries: func(v1, v2, v3 string) []catalog.Entry {
				return []catalog.Entry{{Name: v1}, {Name: v2, Replaces: v1}, {Name: v3, Replaces: v2, Skips: []string{v1}}}
			},
		},
		"skipRange": {
			entries: func(v1, v2, v3 string) []catalog.Entry {
				return []catalog.Entry{{Name: v1}, {Name: v2, Replaces: v1}, {Name: v3, Replaces: v2, SkipRange: "<0.3.0"}}
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, o := newExample(t, "volumelabels")
			v1 := e.example(o.bundle).Release("0.1.0")
			v2, v3 := v1.Release("0.2.0"), v1.Release("0.3.0")
			e.serve(packageOf(catalog.Chain(stable, v1), v1))
			e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
			e.installs(v1.Package, v1.Name())
			load := o.load(e)
			installed := e.watchVersions()

			e.publish(packageOf(catalog.Channel{Name: stable, Entries: test.entries(v1.Name(), v2.Name(), v3.Name())}, v1, v2, v3))
			e.installs(v1.Package, v3.Name())
			e.isGone(v1.Name())
			e.isGone(v2.Name())
			load.GoesOn(o.answer)
			load.End(calls.Never)
			installtest.Same(t, "installed versions", append([]string{v1.Name()}, append(test.passes, v3.Name())...), installed())
		})
	}
}

// A version that never gets ready does not stop the webhook of the version that it replaces. A later version replaces
// both, if the group allows that.
func TestFailForward(t *testing.T) {
	o := examples["volumelabels"]
	o.group.UpgradeStrategy = operatorsv1.UpgradeStrategyUnsafeFailForward
	e := o.newEnv(t, "volumelabels")
	v1 := e.example(o.bundle).Release("0.1.0")
	v2, v3 := v1.Release("0.2.0", catalog.NeverReady, catalog.FailsSoon), v1.Release("0.3.0")
	e.serve(packageOf(catalog.Chain(stable, v1), v1))
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
	e.installs(v1.Package, v1.Name())
	load := o.load(e)

	e.publish(packageOf(catalog.Chain(stable, v1, v2), v1, v2))
	e.reaches(v2.Name(), operatorsv1alpha1.CSVPhaseFailed)
	e.reaches(v1.Name(), operatorsv1alpha1.CSVPhaseReplacing)
	load.GoesOn(o.answer)

	e.publish(packageOf(catalog.Chain(stable, v1, v2, v3), v1, v2, v3))
	e.installs(v1.Package, v3.Name())
	e.isGone(v1.Name())
	e.isGone(v2.Name())
	load.GoesOn(o.answer)
	load.End(calls.Never)
}
