package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/spf13/cobra"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/bundle"
)

// registryFlags say how to talk to the registry of a bundle's image.
type registryFlags struct {
	ca        string
	plainHTTP bool
}

func (f *registryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.ca, "registry-ca", "", "a file with the CA of the image's registry, in PEM, trusted beside those of this machine")
	cmd.Flags().BoolVar(&f.plainHTTP, "plain-http", false, "the image's registry has no TLS")
}

// open reads the bundle that a reference names.
func (f *registryFlags) open(ctx context.Context, reference string) (*bundle.Bundle, error) {
	registry := bundle.Registry{PlainHTTP: f.plainHTTP}
	if f.ca != "" {
		text, err := os.ReadFile(f.ca)
		if err != nil {
			return nil, fmt.Errorf("--registry-ca: %w", err)
		}
		registry.CA = text
	}
	b, err := bundle.Open(ctx, reference, registry)
	var unknown x509.UnknownAuthorityError
	switch {
	case errors.As(err, &unknown):
		return nil, fmt.Errorf("%w; name its CA: --registry-ca", err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return nil, fmt.Errorf("%w; if it has no TLS: --plain-http", err)
	}
	return b, err
}
