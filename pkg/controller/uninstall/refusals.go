package uninstall

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
)

// RefusedError names the requests that the API server refuses, and the objects that finalizers keep, with the causes. A
// retry does not help.
type RefusedError []string

const byAPIServer = "the API server refuses "

func (e RefusedError) Error() string {
	text := strings.Join(e, "; ")
	if slices.ContainsFunc(e, func(why string) bool { return strings.HasPrefix(why, byAPIServer) }) {
		text += ". Change the policy or the webhook that refuses this, or grant the named user the permission that it lacks"
	}
	return text
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
	return RefusedError{fmt.Sprintf("%sto %s %s: %s", byAPIServer, verb, object, cause)}
}

// Refusals returns the refusals in an error, which name the verb, user and resource; or else the error.
func Refusals(err error) (RefusedError, error) {
	var refused RefusedError
	switch {
	case errors.As(err, &refused):
		return refused, nil
	case err != nil && isRefused(err):
		return RefusedError{byAPIServer + "a request: " + write.Text(err)}, nil
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
