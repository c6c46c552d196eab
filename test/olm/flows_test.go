package olm

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/convert"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/crdconversion/test/caches"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// flow is an operator with four versions, of which the third never gets ready.
type flow struct {
	versions [4]catalog.Bundle
	// installed and upgraded start the loads that are possible since the first and the second version are live.
	installed, upgraded func() *calls.Load
	// uncovered is whether nothing is called any more once the last version is deleted. The manager keeps a version that
	// converts until its objects no longer exist.
	uncovered bool
}

// An operator is installed from a catalog, upgraded, upgraded to a version that fails, and to one that replaces that.
// Then its Subscription and its version are deleted. No call fails. hack/olm-flows.sh measures the same with olm-operator.
func TestFlows(t *testing.T) {
	flows := map[string]func(*env) flow{"crdconversion": conversionFlow}
	for name, o := range examples {
		flows[name] = o.flow
	}
	// With olm-operator, the conversion does not always complete, and what it leaves affects later flows.
	for _, name := range []string{"poddefaults", "projectpolicy", "volumelabels", "crdconversion"} {
		flow := flows[name]
		t.Run(name, func(t *testing.T) {
			o := examples[name]
			o.group.UpgradeStrategy = operatorsv1.UpgradeStrategyUnsafeFailForward
			e := o.newEnv(t, name)
			f := flow(e)
			m := e.measure()
			f.run(e, m)
			m.end(f.uncovered)
		})
	}
}

func (f flow) run(e *env, m *measurement) {
	e.Helper()
	v1, v2, v3, v4 := f.versions[0], f.versions[1], f.versions[2], f.versions[3]
	name := v1.Package
	e.serve(catalog.Package{Name: name, DefaultChannel: "one", Bundles: f.versions[:], Channels: []catalog.Channel{
		catalog.Chain("one", v1), catalog.Chain("two", v1, v2), catalog.Chain("three", v1, v2, v3), catalog.Chain("four", v1, v2, v3, v4),
	}})
	m.step("installation", func() {
		e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: name, Channel: "one"})
		e.succeeds(v1.Name())
	})
	e.installs(name, v1.Name())
	m.load(f.installed())
	m.step("upgrade", func() {
		e.changes(name, map[string]any{"channel": "two"})
		e.succeeds(v2.Name())
	})
	e.installs(name, v2.Name())
	e.isGone(v1.Name())
	if f.upgraded != nil {
		m.load(f.upgraded())
	}
	m.step("failing upgrade", func() {
		e.changes(name, map[string]any{"channel": "three"})
		e.reaches(v3.Name(), operatorsv1alpha1.CSVPhaseFailed)
	})
	m.step("fail-forward", func() {
		e.changes(name, map[string]any{"channel": "four"})
		e.succeeds(v4.Name())
	})
	e.installs(name, v4.Name())
	e.isGone(v2.Name())
	e.isGone(v3.Name())
	m.step("deletion of the Subscription", func() {
		e.must(olmClient.Subscriptions(e.namespace).Delete(e.ctx, name, metav1.DeleteOptions{}))
	})
	m.step("deletion of the version", func() {
		e.must(olmClient.ClusterServiceVersions(e.namespace).Delete(e.ctx, v4.Name(), metav1.DeleteOptions{}))
		if f.uncovered {
			e.isGone(v4.Name())
		}
	})
}

func (o operator) flow(e *env) flow {
	v1 := e.example(o.bundle).Release("0.1.0")
	return flow{
		versions:  [4]catalog.Bundle{v1, v1.Release("0.2.0"), v1.Release("0.3.0", catalog.NeverReady, catalog.FailsSoon), v1.Release("0.4.0")},
		installed: func() *calls.Load { return o.load(e) },
		uncovered: true,
	}
}

// conversionFlow has a conversion since the second version. Its objects can be read as long as they exist.
func conversionFlow(e *env) flow {
	v2 := e.example("crdconversion/bundle-v2")
	client := &caches.Client{Dynamic: dynamicClient, Namespace: "default"}
	reads := func(versions ...schema.GroupVersion) *calls.Load {
		e.eventually("Caches are served", func() (bool, any) { // Succeeded does not mean that with olm-operator
			err := client.TryDryRun(e.T, versions[len(versions)-1])
			return err == nil, err
		})
		return calls.Start(e, between, client.Reads(e.T, caches.Authored, versions, "sessions"))
	}
	return flow{
		versions: [4]catalog.Bundle{
			e.example("crdconversion/bundle-v1"), v2, v2.Release("2.1.0", catalog.NeverReady, catalog.FailsSoon), v2.Release("2.2.0"),
		},
		installed: func() *calls.Load {
			e.Cleanup(func() { removeCaches(e, client) })
			e.Cleanup(func() { stopConverting(e) })
			createCache(e, client, caches.New(convert.V1, "sessions", map[string]any{"size": "3x512Mi"}))
			return reads(convert.V1)
		},
		upgraded: func() *calls.Load { return reads(caches.Versions...) },
	}
}

// stopConverting has the API server read what olm-operator left without a converter.
func stopConverting(e *env) {
	e.Helper()
	if *operatorName == managerName {
		return
	}
	e.ctx = context.WithoutCancel(e.ctx)
	name := convert.Resource + "." + convert.V1.Group
	kube.Patch(e, dynamicClient.Resource(definitions), name, types.MergePatchType, []byte(`{"spec":{"conversion":{"strategy":"None","webhook":null}}}`))
}
