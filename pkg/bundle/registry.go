package bundle

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Registry says how to talk to registries that are not as most are.
type Registry struct {
	// CA is a PEM bundle, which is trusted beside what the machine trusts.
	CA []byte
	// PlainHTTP takes a registry that has no TLS. Those of the machine itself and of
	// private networks are asked so anyway when they do not answer otherwise.
	PlainHTTP bool
}

// pull reads the image of the digest that the reference has now.
func (r Registry) pull(ctx context.Context, reference string) (*Bundle, error) {
	var naming []name.Option
	if r.PlainHTTP {
		naming = append(naming, name.Insecure)
	}
	ref, err := name.ParseReference(reference, naming...)
	if err != nil {
		return nil, fmt.Errorf("%s is neither a folder nor the name of an image: %w", reference, err)
	}
	transport, err := r.transport()
	if err != nil {
		return nil, err
	}
	descriptor, err := remote.Get(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain), remote.WithTransport(transport))
	if err != nil {
		return nil, fmt.Errorf("%s cannot be pulled: %w", reference, err)
	}
	image, err := descriptor.Image()
	if err != nil {
		return nil, fmt.Errorf("%s is no image: %w", reference, err)
	}
	return InspectImage(image, ref.Context().Digest(descriptor.Digest.String()).String())
}

func (r Registry) transport() (http.RoundTripper, error) {
	if len(r.CA) == 0 {
		return remote.DefaultTransport, nil
	}
	trusted, err := x509.SystemCertPool()
	if err != nil {
		trusted = x509.NewCertPool() // a machine that trusts nobody else
	}
	if !trusted.AppendCertsFromPEM(r.CA) {
		return nil, errors.New("there is no certificate in the CA bundle of the registry: give it as PEM")
	}
	transport := remote.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	return transport, nil
}
