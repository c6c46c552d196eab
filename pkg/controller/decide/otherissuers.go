package decide

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// removeOtherIssuers deletes the requests, and then what was issued: otherwise it would be reissued. Pods serve
// a copy. The removal is finished when there are no steps, and nothing waits.
func (c *certifier) removeOtherIssuers(provider managerv1alpha1.CertificateProvider) (steps []rollout.Step, waits bool, err error) {
	for _, other := range issuers.Providers {
		r, has := requests[other.Name]
		if !has || other.Name == provider {
			continue
		}
		removal, unfinished, err := r.remove(c)
		if err != nil {
			return nil, false, err
		}
		steps, waits = append(steps, removal...), waits || unfinished
	}
	if len(steps) > 0 || waits {
		return steps, true, nil
	}
	for _, name := range []string{names.Issued(names.CA(c.service)), names.Issued(names.Secret(c.service))} {
		secret := c.Issued[name]
		if secret != nil && c.refusal(secret) == "" && issuers.IssuedBy(secret) != provider && csvspec.IsManaged(secret) && c.Ownership.Owns(secret) {
			steps = append(steps, deletion(secret)...)
		}
	}
	return steps, len(steps) > 0, nil
}

func (c *certifier) deleteOwned(o *unstructured.Unstructured) []rollout.Step {
	if o == nil || !csvspec.IsManaged(o) || !c.Ownership.Owns(o) || o.GetDeletionTimestamp() != nil {
		return nil
	}
	return []rollout.Step{{Verb: rollout.Delete, Object: o, Live: o}}
}
