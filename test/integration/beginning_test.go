package integration

import (
	"testing"
	"time"

	"k8s.io/client-go/rest"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/prober"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A ClusterServiceVersion is Succeeded when each API server has observed its registrations. The manager reports for which one it
// waits, and leaves no marker.
func TestInstallationAwaitsEachAPIServer(t *testing.T) {
	e := newOperatorEnv(t)
	another := cluster.AnotherAPIServer(t)
	e.manage(func(o *controller.Options) {
		throughAPIServer(o)
		asks(time.Hour, prober.Servers{Each: map[string]*rest.Config{"first": cluster.Config(), "second": another.Config()}, Number: 2})(o)
	})
	listener := listen(e)
	e.create(csv("operator.v1", "server"))
	e.eventually("there is a Deployment", func() (bool, any) { return e.deployment("server") != nil, nil })
	answer(e, listener, servingCertificate(e), permitAtValidate)
	another.Hold()
	endpoint(e, listener)
	e.eventually("the phase reports the API server", func() (bool, any) {
		message := e.get("operator.v1").Status.Message
		return message == "installing: waiting for webhook v.example.com to be known to these API servers: second", message
	})
	e.looksFor(3*time.Second, func() {
		installtest.Same(t, "the phase while an API server is behind", operatorsv1alpha1.CSVPhaseInstalling, e.get("operator.v1").Status.Phase)
	})
	another.Release()
	e.succeeds("operator.v1")
	becomes(e, "the number of markers", func() int { return len(markersIn(e)) }, 0)
}
