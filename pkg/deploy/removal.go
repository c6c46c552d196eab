package deploy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

// Removal is what goes with an operator, and what people are told of the rest.
type Removal struct {
	// Goes are the objects to delete, in this order. Definitions come first, while the
	// operator can still convert and finalize their objects; then the ClusterServiceVersion,
	// whose webhooks go before what serves them. Last are the OperatorGroup and the Subscription,
	// by which a removal that was interrupted knows again for which namespaces the operator was
	// installed, and in which.
	Goes []*unstructured.Unstructured
	// Definitions is how many of them are CustomResourceDefinitions, which take all their
	// objects along.
	Definitions int
	Told        []string
}

// RemovalOf decides what of an installation's manifests goes. Objects tells how many each
// definition has that there is, and others are the ClusterServiceVersions that stay in the namespace.
func RemovalOf(manifests []*unstructured.Unstructured, objects map[string]int, others []string, definitions bool) Removal {
	var r Removal
	var definitionsGo, groups, subscriptions []*unstructured.Unstructured
	for _, o := range slices.Backward(manifests) {
		switch o.GetKind() {
		case "Namespace":
			r.Told = append(r.Told, fmt.Sprintf("Namespace %s stays", o.GetName()))
		case "OperatorGroup":
			if stays, why := groupStays(o, others); !stays {
				groups = append(groups, o)
			} else {
				r.Told = append(r.Told, fmt.Sprintf("OperatorGroup %s stays%s", o.GetName(), why))
			}
		case "Subscription":
			if cameWithBundle(o) {
				subscriptions = append(subscriptions, o)
			} else {
				r.Told = append(r.Told, fmt.Sprintf("Subscription %s stays%s", o.GetName(), byHand(o, "subscription.operators.coreos.com")))
			}
		case "CustomResourceDefinition":
			n, there := objects[o.GetName()]
			if there && definitions {
				definitionsGo = append(definitionsGo, o)
			}
			if there {
				r.Told = append(r.Told, fmt.Sprintf("CustomResourceDefinition %s %s, with %s", o.GetName(), staysOrGoes(definitions), counted(n)))
			}
		default:
			r.Goes = append(r.Goes, o)
		}
	}
	r.Goes, r.Definitions = slices.Concat(definitionsGo, r.Goes, groups, subscriptions), len(definitionsGo)
	return r
}

// groupStays tells whether a group, as AdoptGroup left it, stays when its operator goes, and why.
func groupStays(group *unstructured.Unstructured, others []string) (stays bool, why string) {
	switch {
	case len(others) > 0:
		return true, ", for " + strings.Join(others, ", ")
	case !cameWithBundle(group):
		return true, byHand(group, "operatorgroup")
	default:
		return false, ""
	}
}

// cameWithBundle tells what an installation brought, and so takes along, from what somebody made by hand.
func cameWithBundle(o *unstructured.Unstructured) bool {
	return o.GetAnnotations()[vocabulary.AnnotationMadeBy] == vocabulary.MadeByBundle
}

// byHand says why an object stays, and how it goes.
func byHand(o *unstructured.Unstructured, kind string) string {
	return fmt.Sprintf(": it came with no bundle; once nothing needs it: kubectl -n %s delete %s %s", o.GetNamespace(), kind, o.GetName())
}

func staysOrGoes(goes bool) string {
	if goes {
		return "goes"
	}
	return "stays"
}

// Uncounted is the number of a definition's objects that nobody can read now.
const Uncounted = -1

func counted(n int) string {
	switch n {
	case Uncounted:
		return "objects that cannot be read now, and so not be counted"
	case 0:
		return "no objects"
	case 1:
		return "1 object"
	default:
		return fmt.Sprintf("%d objects", n)
	}
}
