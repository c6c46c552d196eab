package olm

import (
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// An upgrade requires a kind of another package: catalog-operator installs that package in the same namespace, with a
// Subscription of its own. Both webhooks answer, and the operator that was installed first answers all the time.
func TestDependency(t *testing.T) {
	volumes, projects := examples["volumelabels"], examples["projectpolicy"]
	e := volumes.newEnv(t, "volumelabels")
	v1, required := e.example(volumes.bundle).Release("0.1.0"), e.example(projects.bundle)
	v2 := v1.Release("0.2.0", func(b *catalog.Bundle) {
		owned := required.CSV.Spec.CustomResourceDefinitions.Owned[0]
		b.CSV.Spec.CustomResourceDefinitions.Required = []operatorsv1alpha1.CRDDescription{{Name: owned.Name, Version: owned.Version, Kind: owned.Kind}}
	})
	others := packageOf(catalog.Chain(stable, required), required)
	e.serve(packageOf(catalog.Chain(stable, v1), v1), others)
	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
	e.installs(v1.Package, v1.Name())
	load := volumes.load(e)
	installtest.Same(t, "versions before the upgrade", []string{v1.Name()}, e.versions())

	e.publish(packageOf(catalog.Chain(stable, v1, v2), v1, v2), others)
	e.installs(v1.Package, v2.Name())
	e.isGone(v1.Name())
	e.succeeds(required.Name())
	second := projects.load(e)
	second.GoesOn(projects.answer)
	load.GoesOn(volumes.answer)
	second.End(calls.Never)
	load.End(calls.Never)
}
