package cluster

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An endpoint that is reached by a later dial was asked.
func TestLaterDialSucceeds(t *testing.T) {
	dials := 0
	d := recordedDials{dial: func(context.Context, string) (net.Conn, error) {
		if dials++; dials == 1 {
			return nil, errors.New("no answer yet")
		}
		return nil, nil
	}}
	_, err := d.Dial(t.Context(), "192.0.2.1:443")
	installtest.Error(t, "no answer yet", err)
	installtest.Same(t, "the cause after the first dial", "no answer yet", d.failure("192.0.2.1:443"))
	_, err = d.Dial(t.Context(), "192.0.2.1:443")
	installtest.Must(t, err)
	installtest.Same(t, "the cause after the second dial", "", d.failure("192.0.2.1:443"))
	installtest.Same(t, "the cause of another address", "", d.failure("192.0.2.2:443"))
}
