package olm

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

var packageManifests = schema.GroupVersionResource{Group: "packages.operators.coreos.com", Version: "v1", Resource: "packagemanifests"}

// The manager installs package-server from its ClusterServiceVersion. Users read the packages of a catalog while the
// certificate of package-server is replaced and its pods are.
func TestPackageServer(t *testing.T) {
	e := newEnv(t, "packages", operatorsv1.OperatorGroupSpec{})
	b := e.example("volumelabels/bundle-one-process").Release("0.1.0")
	e.serve(packageOf(catalog.Chain(stable, b), b))
	client := dynamicClient.Resource(packageManifests).Namespace(e.namespace)
	read := func(ctx context.Context) calls.Call {
		c := calls.Call{Sent: time.Now(), Outcome: calls.Served}
		_, c.Err = client.Get(ctx, b.Package, metav1.GetOptions{})
		c.Answered = time.Now()
		if c.Err != nil {
			c.Outcome = calls.Failed
		}
		return c
	}
	e.eventually("both pods of package-server know the package", inRow(20, func() (bool, any) {
		c := read(e.ctx)
		return c.Outcome == calls.Served, c.Err
	}))
	readers := calls.Start(t, between, read)
	readers.GoesOn(calls.Served)
	e.rotates(olmNamespace, "packageserver")
	readers.GoesOn(calls.Served)
	readers.End(calls.Never)
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
