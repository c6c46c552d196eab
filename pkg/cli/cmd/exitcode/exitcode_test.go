package exitcode

import (
	"context"
	"errors"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestOf(t *testing.T) {
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		err         error
		interrupted bool
		want        int
	}{
		"success":                         {nil, false, 0},
		"success although interrupted":    {nil, true, 0},
		"failure":                         {failed, false, 1},
		"interrupted":                     {context.Canceled, true, 130},
		"interrupted, with another error": {failed, true, 130},
		"error with its own code":         {With(2, failed), true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if test.interrupted {
				cancel()
			}
			installtest.Same(t, "exit code", test.want, Of(ctx, test.err))
		})
	}
}
