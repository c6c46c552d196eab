package bundle

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
)

type registryFlags struct {
	ca        string
	plainHTTP bool
	patience  time.Duration
}

func (f *registryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.ca, "registry-ca", "", "a file with the CA of the image's registry, in PEM, trusted in addition to the CAs of this machine")
	cmd.Flags().BoolVar(&f.plainHTTP, "plain-http", false, "connect to the image's registry without TLS if it does not support TLS: credentials are then sent in plain text")
	if cmd.Flags().Lookup("patience") == nil {
		cmd.Flags().DurationVar(&f.patience, "patience", deploy.DefaultTimeout, "time limit for the download of an image")
	}
}

func (f *registryFlags) open(ctx context.Context, reference string) (*bundle.Bundle, error) {
	registry := bundle.Registry{PlainHTTP: f.plainHTTP}
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("--registry-ca: %w", err)
		}
		registry.CA = text
	}
	patience := cmp.Or(f.patience, deploy.DefaultTimeout)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	b, err := bundle.Open(ctx, reference, registry)
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return nil, fmt.Errorf("%w; name its CA: --registry-ca", err)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("%s: it was not read within %s (--patience): %w", reference, patience, err)
	case errors.Is(err, http.ErrSchemeMismatch) && !errors.Is(err, bundle.ErrPlainHTTP):
		return nil, fmt.Errorf("%w; if it has no TLS: --plain-http", err)
	}
	return b, err
}
