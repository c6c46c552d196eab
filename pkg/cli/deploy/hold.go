package deploy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Hold is what one look at an object shows that is being deleted, and still there.
type Hold struct {
	Namespace  string
	Finalizers []string
	// Said is why the manager keeps a ClusterServiceVersion, and Lease which one no manager
	// holds, and since when; empty for nothing.
	Said, Lease string
	// Terminating is what the API server says of the objects of a definition; Objects are how
	// many are left, and Held some of them that have finalizers, with those.
	Terminating string
	Objects     int
	Held        []string
}

// Left changes with each step towards the end. What the API server says of a definition
// does not: it turns with each of its attempts.
func (h Hold) Left() string {
	return fmt.Sprint(h.Finalizers, h.Said, h.Objects)
}

// cleanup is the finalizer of a definition, by which its objects go first.
const cleanup = "customresourcecleanup.apiextensions.k8s.io"

// Why says who keeps it, and what to do about that.
func (h Hold) Why() string {
	var all []string
	for _, finalizer := range h.Finalizers {
		switch {
		case finalizer == wellknown.FinalizerCSV && h.Said != "":
			all = append(all, h.Said)
		case finalizer == wellknown.FinalizerCSV:
			all = append(all, h.nobody())
		case finalizer == cleanup:
			all = append(all, h.objects())
		default:
			all = append(all, fmt.Sprintf("its finalizer %s stays: let whoever put it there take it away", finalizer))
		}
	}
	if len(all) == 0 {
		return "no finalizer is left, and the API server has not removed it"
	}
	return strings.Join(all, "; ")
}

// nobody is the diagnosis of a ClusterServiceVersion that no manager lets go.
func (h Hold) nobody() string {
	text := fmt.Sprintf("its finalizer %s is the manager's, and no manager has taken it away: see whether one is installed and running (kubectl get deployment -n olm-webhook-manager), "+
		"and whether its --namespaces, if it has any, include %s", wellknown.FinalizerCSV, h.Namespace)
	if h.Lease != "" {
		text += "; " + h.Lease
	}
	return text
}

// objects is the diagnosis of a definition whose objects do not go.
func (h Hold) objects() string {
	text := fmt.Sprintf("its finalizer %s stays until its objects are gone, and it has %s", cleanup, counted(h.Objects))
	if len(h.Held) > 0 {
		text += fmt.Sprintf(", among them %s: let whoever takes these finalizers away run, or take them from the objects by hand, and with them what they were for", strings.Join(slices.Sorted(slices.Values(h.Held)), ", "))
	}
	if h.Terminating != "" {
		text += "; the API server says " + h.Terminating
	}
	return text
}
