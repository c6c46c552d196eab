package rollout

import (
	"testing"
	"time"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/backends"
)

// After the order given-back, no client closes the webhook. So the order give-back closes it, and opens none.
func TestGiveBackCloses(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(backends.Endpoint) backends.Answer
		ready  []string
	}{
		"the manager cannot dial the pods": {refuses, []string{"10.0.0.1"}},
		"no endpoint is ready":             {serves, nil},
		"all endpoints serve":              {serves, []string{"10.0.0.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := opened(t, time.Minute)
			c.CSV = c.CSV.DeepCopy()
			c.CSV.Labels = map[string]string{wellknown.LabelTakeover: wellknown.TakeoverGiveBack}
			c.answer = test.answer
			c.serve("manager", test.ready...)
			c.reconcileOpenings()
			installtest.Same(t, "the configuration", managerv1alpha1.FailOpenClosed, c.openState())
			c.wait(10 * time.Minute)
			c.reconcileOpenings()
			installtest.Same(t, "the configuration later", managerv1alpha1.FailOpenClosed, c.openState())
		})
	}
}
