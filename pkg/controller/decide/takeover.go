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

// takeover is what the form of the objects depends on.
func (d *decision) takeover(in rollout.Input, rendering render.Input) takeover.Input {
	o := d.Observed
	return takeover.Input{
		Input: rendering, Certificates: in.Certificates,
		Deployments: o.Deployments, Services: o.Services, Roles: o.Roles, RoleBindings: o.RoleBindings,
	}
}

// returnSecrets writes the CA into the Secrets of a CSV that is given back, where olm-operator reads it.
func (d *decision) returnSecrets(in *rollout.Input, form takeover.Input) {
	if csvspec.TakeoverOrder(d.CSV) != wellknown.TakeoverGiveBack {
		return
	}
	for deployment, certificate := range in.Certificates {
		live := d.secrets[certificate.Secret]
		if live == nil || in.Secrets[deployment] != nil || !form.Settled(deployment) || certificate.Provider != managerv1alpha1.ProviderManager {
			continue
		}
		if readable := takeover.Secret(live, form.Trust[deployment].CABundle); readable != nil {
			in.Secrets[deployment] = rollout.WriteSecret(readable, live)
		}
	}
}

func (d *decision) reportTakeover(plan *rollout.Plan, form takeover.Input) {
	plan.Status.Takeover = form.Report(takeover.Progress{
		Deployments: plan.Status.Deployments, Writes: len(plan.Steps) > 0, Refused: d.Observed.Refused,
	})
}

// requestRemovalSteps removes requests to the manager from a CSV that is given back: olm-operator would copy them into pod
// templates, and replace all pods.
func (d *decision) requestRemovalSteps() []rollout.Step {
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
