package audit

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Codes of HTTP.
const (
	created     = 201
	firstError  = 400 // of the client
	serverError = 500
)

const (
	mayBePartial   = "the request failed: API servers delete the objects of a collection one after the other, and those before the error stay deleted"
	mayBeStored    = "the request failed: the API server may have stored the change before the error"
	mayBeConnected = "the request failed: the answer may be that of the pod or node"
)

// hadEffect reports whether a request changed an object, or connected to one: maybe if it failed after the webhooks were called.
func hadEffect(e auditv1.Event) truth {
	status := e.ResponseStatus
	switch {
	case status == nil || status.Code < firstError:
		return isTrue
	case e.Annotations["authorization.k8s.io/decision"] == "forbid":
		return isFalse
	case e.Verb == "deletecollection": // The first denial ends it, too.
		return perhaps(mayBePartial)
	case isDeniedByWebhook(*status):
		return isFalse
	case connects(e):
		return perhaps(mayBeConnected)
	case status.Code >= serverError:
		return perhaps(mayBeStored)
	default:
		return isFalse
	}
}

// isDeniedByWebhook knows the messages of API servers. A webhook chooses the code of its denial.
func isDeniedByWebhook(status metav1.Status) bool {
	return strings.HasPrefix(status.Message, `admission webhook "`) || strings.HasPrefix(status.Message, `Internal error occurred: failed calling webhook "`)
}
