package bundle

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Registry configures the connection to a registry.
type Registry struct {
	// CA is a PEM bundle that is trusted in addition to the CAs of the machine.
	CA []byte
	// PlainHTTP allows requests without TLS, which may have a password.
	PlainHTTP bool
}

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
	descriptor, err := remote.Get(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(interruptibleKeychain{authn.DefaultKeychain}), remote.WithTransport(transport))
	if err != nil {
		return nil, fmt.Errorf("%s: there is no such folder here, and as the image %s it cannot be pulled: %w", reference, ref.Name(), err)
	}
	source := ref.Context().Digest(descriptor.Digest.String()).String()
	image, err := imageOfDescriptor(descriptor)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	return InspectImage(ctx, image, source)
}

func imageOfDescriptor(d *remote.Descriptor) (v1.Image, error) {
	if !d.MediaType.IsIndex() {
		image, err := d.Image()
		if err != nil {
			return nil, fmt.Errorf("is no image: %w", err)
		}
		return image, nil
	}
	index, err := d.ImageIndex()
	if err != nil {
		return nil, err
	}
	image, _, err := imageIn(index)
	return image, err
}

const maxAnswer = maxImage + 1<<20

// limitedTransport limits the size of answers, and refuses requests without TLS unless they are allowed.
type limitedTransport struct {
	next      http.RoundTripper
	plainHTTP bool
}

// ErrPlainHTTP is returned in place of a request that would be sent without TLS.
var ErrPlainHTTP = errors.New("no request is sent without TLS; if the registry has none: --plain-http")

func (g limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme != "https" && !g.plainHTTP {
		return nil, ErrPlainHTTP
	}
	answer, err := g.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	answer.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(answer.Body, maxAnswer), answer.Body}
	return answer, nil
}

func (r Registry) transport() (http.RoundTripper, error) {
	if len(r.CA) == 0 {
		return limitedTransport{remote.DefaultTransport, r.PlainHTTP}, nil
	}
	trusted, err := x509.SystemCertPool()
	if err != nil {
		trusted = x509.NewCertPool() // a machine without CAs of its own
	}
	if !trusted.AppendCertsFromPEM(r.CA) {
		return nil, errors.New("there is no certificate in the CA bundle of the registry: give it as PEM")
	}
	transport := remote.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}
	return limitedTransport{transport, r.PlainHTTP}, nil
}

// interruptibleKeychain ends with the context. A keychain may run a credential helper, which may wait for input.
type interruptibleKeychain struct{ authn.Keychain }

// ResolveContext returns the credentials for a registry. After an interruption the helper may run on: the process
// ends soon.
func (k interruptibleKeychain) ResolveContext(ctx context.Context, target authn.Resource) (authn.Authenticator, error) {
	type answer struct {
		credentials authn.Authenticator
		err         error
	}
	answered := make(chan answer, 1)
	go func() {
		credentials, err := authn.Resolve(ctx, k.Keychain, target)
		answered <- answer{credentials, err}
	}()
	select {
	case a := <-answered:
		return a.credentials, a.err
	case <-ctx.Done():
		return nil, fmt.Errorf("the credential helper for %s has not answered: %w", target.RegistryStr(), ctx.Err())
	}
}
