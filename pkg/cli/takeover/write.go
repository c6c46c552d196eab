package takeover

import (
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Verb is what a Write does.
type Verb string

// The verbs.
const (
	// SetOrder sets the label of a CSV, or removes it if Value is empty.
	SetOrder Verb = "label"
	// Scale sets spec.replicas of a Deployment to Value.
	Scale Verb = "scale"
	// Delete deletes an object.
	Delete Verb = "delete"
)

// Kinds of the objects that the commands write.
const (
	KindCSV        = "ClusterServiceVersion"
	KindDeployment = "Deployment"
	KindPolicy     = "MutatingAdmissionPolicy"
	KindBinding    = "MutatingAdmissionPolicyBinding"
	KindRollout    = "WebhookRollout"
)

// Write is one request that changes an object.
type Write struct {
	Verb   Verb   `json:"verb"`
	Object Object `json:"object"`
	Value  string `json:"value,omitempty"`
}

// String returns the line that the commands print.
func (w Write) String() string {
	switch {
	case w.Verb == Scale:
		return fmt.Sprintf("scale %s to %s", w.Object, w.Value)
	case w.Verb == SetOrder && w.Value == "":
		return fmt.Sprintf("remove label %s from %s", wellknown.LabelTakeover, w.Object)
	case w.Verb == SetOrder:
		return fmt.Sprintf("label %s %s=%s", w.Object, wellknown.LabelTakeover, w.Value)
	default:
		return fmt.Sprintf("%s %s", w.Verb, w.Object)
	}
}

func order(csv types.NamespacedName, to Order) Write {
	return Write{Verb: SetOrder, Object: Object{KindCSV, csv.Namespace, csv.Name}, Value: string(to)}
}

func scale(p *Program, to int32) Write {
	return Write{Verb: Scale, Object: Object{KindDeployment, p.Namespace, p.Name}, Value: strconv.Itoa(int(to))}
}

func deletion(o Object) Write { return Write{Verb: Delete, Object: o} }
