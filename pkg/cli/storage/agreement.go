package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// requiredAnswers is how often every API server has to confirm: its storage learns of a change after its answer.
const requiredAnswers = 10

// waitForServers waits until no API server stores objects in the previous version. late reports whether it waited.
func waitForServers(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string) (late bool, err error) {
	doubt, agreed := "", 0
	err = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		agreed++
		now, err := serverProblem(ctx, c, crd, to)
		if err != nil {
			return false, err
		}
		if now != "" {
			agreed = 0
			if ctx.Err() == nil { // otherwise the error only means that the command stopped
				doubt = now
			}
		}
		return agreed == requiredAnswers, nil
	})
	switch {
	case errors.Is(err, ErrNoAddresses):
		return false, err
	case err != nil:
		return false, fmt.Errorf("not every API server stores the objects of %s in %s: %s: nothing was rewritten. Run the command where each of them can be reached by its own address, such as in a pod", crd.Name, to, doubt)
	default:
		return doubt != "", nil
	}
}

// ErrNoAddresses is returned by Cluster.Hashes where it is not known which API servers there are.
var ErrNoAddresses = errors.New("the Service default/kubernetes has no EndpointSlice with an address, so the number of API servers is unknown; name the address of each of them: --api-servers")

// serverProblem returns why an API server may use another version; empty if none does. A restarting one answers later.
func serverProblem(ctx context.Context, c Cluster, crd *apiextensionsv1.CustomResourceDefinition, to string) (string, error) {
	hashes, err := c.Hashes(ctx, crd, to)
	switch {
	case errors.Is(err, ErrNoAddresses):
		return "", err
	case err != nil:
		return err.Error(), nil //nolint:nilerr // it is asked again until --patience ends
	case slices.ContainsFunc(hashes, func(hash string) bool { return hash != Hash(crd, to) }):
		return "an API server still stores objects in another version", nil
	default:
		return "", nil
	}
}
