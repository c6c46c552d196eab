package drill

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
)

// failingClosed returns what decides which webhooks that fail closed see a request. Policies need no server.
func failingClosed(s explain.Snapshot) explain.Snapshot {
	closed := explain.Snapshot{Namespaces: s.Namespaces, Definitions: s.Definitions, Resources: s.Resources, Access: s.Access}
	fails := func(policy *admissionregistrationv1.FailurePolicyType) bool {
		return ptr.Deref(policy, admissionregistrationv1.Fail) == admissionregistrationv1.Fail
	}
	for _, c := range s.MutatingWebhooks {
		c.Webhooks = lists.Filter(c.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return fails(w.FailurePolicy) })
		closed.MutatingWebhooks = append(closed.MutatingWebhooks, c)
	}
	for _, c := range s.ValidatingWebhooks {
		c.Webhooks = lists.Filter(c.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return fails(w.FailurePolicy) })
		closed.ValidatingWebhooks = append(closed.ValidatingWebhooks, c)
	}
	return closed
}
