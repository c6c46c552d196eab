package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An endpoint that is reached by a later dial was asked.
func TestLaterDialSucceeds(t *testing.T) {
	dials := 0
	var failed sync.Map
	const address = "192.0.2.1:443"
	dial := recorded(&failed, func(context.Context, string) (net.Conn, error) {
		if dials++; dials == 1 {
			return nil, errors.New("no answer yet")
		}
		return nil, nil
	})
	_, err := dial(t.Context(), address)
	installtest.Error(t, "no answer yet", err)
	cause, _ := failed.Load(address)
	installtest.Same(t, "cause after the first dial", err.Error(), fmt.Sprint(cause))
	_, err = dial(t.Context(), address)
	installtest.Must(t, err)
	if cause, is := failed.Load(address); is {
		t.Errorf("the cause after the second dial is %v", cause)
	}
}
