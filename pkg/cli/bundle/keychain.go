package bundle

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
)

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
