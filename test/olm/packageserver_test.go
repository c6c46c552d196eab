package olm

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

var packageManifests = schema.GroupVersionResource{Group: "packages.operators.coreos.com", Version: "v1", Resource: "packagemanifests"}

// The manager installs package-server from its ClusterServiceVersion. Users read the packages of a catalog while the
// certificate of package-server is replaced and its pods are.
func TestPackageServer(t *testing.T) {
	e := newEnv(t, "packages", operatorsv1.OperatorGroupSpec{})
	b := e.example("volumelabels/bundle-one-process").Release("0.1.0")
	e.serve(packageOf(catalog.Chain(stable, b), b))
	read := e.readsPackage(b.Package)
	e.knowsPackage(read)
	readers := calls.Start(t, between, read)
	readers.GoesOn(calls.Served)
	e.rotates(olmNamespace, "packageserver")
	readers.GoesOn(calls.Served)
	readers.End(calls.Never)
}

// Without a pod of package-server, operators of catalogs are installed all the same. Its ClusterServiceVersion reports what
// is missing, and users read the packages when its pods run again.
func TestPackageServerThatIsDown(t *testing.T) {
	e, o := newExample(t, "volumelabels")
	v1 := e.example(o.bundle).Release("0.1.0")
	e.serve(packageOf(catalog.Chain(stable, v1), v1))
	server := *e
	server.namespace, server.ctx = olmNamespace, context.WithoutCancel(e.ctx) // for the Cleanup, too
	scale := func(replicas string) {
		kube.Patch(&server, kubeClient.AppsV1().Deployments(olmNamespace), "packageserver", types.MergePatchType, []byte(`{"spec":{"replicas":`+replicas+`}}`))
	}
	e.Cleanup(func() { scale("2"); server.succeeds("packageserver") })
	scale("0")
	server.reaches("packageserver", operatorsv1alpha1.CSVPhaseFailed)

	e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
	e.installs(v1.Package, v1.Name())
	load := o.load(e)
	scale("2")
	server.succeeds("packageserver")
	e.knowsPackage(e.readsPackage(v1.Package))
	load.GoesOn(o.answer)
	load.End(calls.Never)
}

func (e *env) readsPackage(name string) func(context.Context) calls.Call {
	client := dynamicClient.Resource(packageManifests).Namespace(e.namespace)
	return func(ctx context.Context) calls.Call {
		c := calls.Call{Sent: time.Now(), Outcome: calls.Served}
		_, c.Err = client.Get(ctx, name, metav1.GetOptions{})
		c.Answered = time.Now()
		if c.Err != nil {
			c.Outcome = calls.Failed
		}
		return c
	}
}

// knowsPackage waits until each pod of package-server has read a package from its catalog.
func (e *env) knowsPackage(read func(context.Context) calls.Call) {
	e.Helper()
	e.eventually("all pods of package-server know the package", inRow(20, func() (bool, any) {
		c := read(e.ctx)
		return c.Outcome == calls.Served, c.Err
	}))
}

// inRow is a condition that holds when another held several times in a row.
func inRow(times int, condition func() (bool, any)) func() (bool, any) {
	held := 0
	return func() (bool, any) {
		ok, seen := condition()
		if held++; !ok {
			held = 0
		}
		return held == times, seen
	}
}
