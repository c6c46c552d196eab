package registration

import (
	"context"
	"errors"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/hostingtest"
)

// A process whose registrations cannot be read is not ready: API servers may not trust it.
func TestNotReadyBeforeRegistrationsAreRead(t *testing.T) {
	dir := t.TempDir()
	asked := make(chan struct{}, 100)
	r := &Registrar{
		Process: "shop", Options: &Options{SelfSigned: true}, Certificate: &certificates.Files{CertFile: dir + "/tls.crt", KeyFile: dir + "/tls.key"},
		Config: func() (*rest.Config, error) {
			asked <- struct{}{}
			return nil, errors.New("no API server answers")
		},
	}
	trust := NewTrust(r)
	hostingtest.Same(t, "it is ready before it asks", false, trust.Check() == nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go trust.Run(ctx)
	<-asked
	hostingtest.Eventually(t, "the cause is the reason", func() bool {
		err := trust.Check()
		return err != nil && strings.Contains(err.Error(), "no API server answers")
	})
}
