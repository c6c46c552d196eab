package deploy

import (
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// PendingDeletion is the state of an object that is being deleted and still exists.
type PendingDeletion struct {
	Namespace  string
	Finalizers []string
	// ManagerMessage is why the manager keeps a ClusterServiceVersion. LeaseMessage names the lease
	// that no manager holds, and since when. Both are empty for nothing.
	ManagerMessage, LeaseMessage string
	// APIServerMessage is the API server's message about the deletion of a definition's objects.
	// Objects counts the remaining ones, and Finalized names some that have finalizers.
	APIServerMessage string
	Objects          int
	Finalized        []string
}

// Remaining changes with each progress. The API server's message changes with each attempt, and is not in it.
func (h PendingDeletion) Remaining() string {
	return fmt.Sprint(h.Finalizers, h.ManagerMessage, h.Objects)
}

// Cause reports who keeps it, and what to do about that.
func (h PendingDeletion) Cause() string {
	var all []string
	for _, finalizer := range h.Finalizers {
		switch {
		case finalizer == wellknown.FinalizerCSV && h.ManagerMessage != "":
			all = append(all, h.ManagerMessage)
		case finalizer == wellknown.FinalizerCSV:
			all = append(all, h.missingManager())
		case finalizer == apiextensionsv1.CustomResourceCleanupFinalizer:
			all = append(all, h.remainingObjects())
		default:
			all = append(all, fmt.Sprintf("its finalizer %s stays: check that the controller that set it runs", finalizer))
		}
	}
	if len(all) == 0 {
		return "no finalizer is left, and the API server has not removed it"
	}
	return strings.Join(all, "; ")
}

func (h PendingDeletion) missingManager() string {
	text := fmt.Sprintf("its finalizer %s is the manager's, and no manager has removed it: check that a manager is installed and running (kubectl get deployments -A -l app.kubernetes.io/name=olm-webhook-manager), "+
		"and that its --namespaces, if set, include %s", wellknown.FinalizerCSV, h.Namespace)
	if h.LeaseMessage != "" {
		text += "; " + h.LeaseMessage
	}
	return text
}

func (h PendingDeletion) remainingObjects() string {
	text := fmt.Sprintf("its finalizer %s stays until its objects are deleted, and it has %s", apiextensionsv1.CustomResourceCleanupFinalizer, countText(h.Objects))
	if len(h.Finalized) > 0 {
		text += fmt.Sprintf(", among them %s: check that the controllers that set these finalizers run, or remove the finalizers by hand, which skips their cleanup", strings.Join(slices.Sorted(slices.Values(h.Finalized)), ", "))
	}
	if h.APIServerMessage != "" {
		text += "; the API server reports " + h.APIServerMessage
	}
	return text
}
