package decide

import (
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/render"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/takeover"
)

// former decides about the form of the objects.
type former struct {
	*decision
	takeover.Input
}

func newFormer(d *decision, in rollout.Input, rendering render.Input) former {
	o := d.Observed
	return former{d, takeover.Input{
		Input: rendering, Certificates: in.Certificates,
		Deployments: o.Deployments, Services: o.Services, Roles: o.Roles, RoleBindings: o.RoleBindings,
	}}
}

// returnSecrets writes the CA into the Secrets of a CSV that is given back, where olm-operator reads it.
func (f former) returnSecrets(in *rollout.Input) {
	if csvspec.TakeoverOrder(f.decision.CSV) != wellknown.TakeoverGiveBack {
		return
	}
	for deployment, certificate := range in.Certificates {
		live := f.secrets[certificate.Secret]
		if live == nil || in.Secrets[deployment] != nil || !f.Settled(deployment) || certificate.Provider != managerv1alpha1.ProviderManager {
			continue
		}
		if readable := takeover.Secret(live, f.Trust[deployment].CABundle); readable != nil {
			in.Secrets[deployment] = rollout.WriteSecret(readable, live)
		}
	}
}

func (f former) report(plan *rollout.Plan) {
	plan.Status.Takeover = f.Report(takeover.Progress{
		Deployments: plan.Status.Deployments, Writes: len(plan.Steps) > 0, Refused: f.Observed.Refused,
	})
}

// requestRemovalSteps removes requests to the manager from a CSV that is given back: olm-operator would copy them into pod
// templates, and replace all pods.
func requestRemovalSteps(d *decision) []rollout.Step {
	key := drift.KeyOf(d.CSV)
	if csvspec.TakeoverOrder(d.CSV) != wellknown.TakeoverGiveBack || d.Deleting || d.carriedOut(key) {
		return nil
	}
	removed := map[string]string{}
	for name := range d.CSV.Annotations {
		if takeover.IsRequest(name) {
			removed[annotationsPrefix+name] = ""
		}
	}
	if len(removed) == 0 {
		return nil
	}
	desired := *d.CSV
	desired.ObjectMeta = *d.CSV.ObjectMeta.DeepCopy()
	desired.Annotations = labels.Merge(desired.Annotations, nil)
	for field := range removed {
		delete(desired.Annotations, strings.TrimPrefix(field, annotationsPrefix))
	}
	return []rollout.Step{patch(&desired, d.CSV, removed)}
}
