package uninstall

import (
	"errors"
	"fmt"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
)

// RefusedError names the requests that the API server refuses, with the causes. A retry does not help.
type RefusedError []string

func (e RefusedError) Error() string {
	return strings.Join(e, "; ") + ". Change the policy or the webhook that refuses this, or grant the named user the permission that it lacks"
}

// refusal returns the error of a write as a RefusedError if the API server refuses the write.
func refusal(verb, object string, err error) error {
	if err == nil || !isRefused(err) {
		return err
	}
	cause := write.Text(err)
	if _, after, found := strings.Cut(cause, " is forbidden: "); found { // before it is the object again
		cause = after
	}
	return RefusedError{fmt.Sprintf("the API server refuses to %s %s: %s", verb, object, cause)}
}

// Refusals returns the refusals in an error, which name the verb, user and resource; or else the error.
func Refusals(err error) (RefusedError, error) {
	var refused RefusedError
	switch {
	case errors.As(err, &refused):
		return refused, nil
	case err != nil && isRefused(err):
		return RefusedError{"the API server refuses a request: " + write.Text(err)}, nil
	default:
		return nil, err
	}
}

// Held returns why a ClusterServiceVersion keeps its finalizer; empty if nothing keeps it.
func Held(inUse string, refused RefusedError) string {
	switch {
	case len(refused) == 0:
		return inUse
	case inUse == "":
		return refused.Error()
	default:
		return refused.Error() + "; " + inUse
	}
}

func isRefused(err error) bool { return write.IsRefused(err) || write.IsUnanswered(err) }
