// Package obstacle reads from the status of an InstallPlan which webhook it cannot continue without.
package obstacle

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Obstacle is a webhook that an API server could not call for a write or read of an InstallPlan.
type Obstacle struct {
	// Webhook is the name of the webhook; empty for a conversion webhook.
	Webhook string
	// Converted is the kind whose objects could not be converted; empty for another webhook.
	Converted schema.GroupKind
	// Namespace is that of the Service of the webhook; empty if the message does not have it.
	Namespace string
	// Cause is why the webhook could not be called.
	Cause string
	// Step is the kind and name of the object of the step; empty if it is not known.
	Step string
	// Failed is set if catalog-operator does not try again.
	Failed bool
}

// The texts of API servers about a call without an answer (k8s.io/apiserver, pkg/util/webhook/error.go, and
// k8s.io/apiextensions-apiserver, pkg/apiserver/conversion/webhook_converter.go). A webhook that denies a request has
// another text: it works.
var (
	uncalled    = regexp.MustCompile(`failed calling webhook "([^"]{1,253})"(?:: |; )([^\n]*)`)
	unconverted = regexp.MustCompile(`conversion webhook for ([^\s,]{1,317}), Kind=([A-Za-z0-9-]{1,63}) failed: ([^\n]*)`)
	ofService   = regexp.MustCompile(`https://[a-z0-9-]{1,63}\.([a-z0-9-]{1,63})\.svc[:/]`)
)

const maxCause = 300

// Of returns the obstacle of an InstallPlan, if there is one.
func Of(plan *operatorsv1alpha1.InstallPlan) (Obstacle, bool) {
	o := Obstacle{Failed: plan.Status.Phase == operatorsv1alpha1.InstallPlanPhaseFailed, Step: firstOpen(plan.Status.Plan)}
	if !o.Failed && plan.Status.Phase != operatorsv1alpha1.InstallPlanPhaseInstalling {
		return Obstacle{}, false
	}
	text := plan.Status.Message
	if found := ofService.FindStringSubmatch(text); found != nil {
		o.Namespace = found[1]
	}
	if found := uncalled.FindStringSubmatch(text); found != nil {
		o.Webhook, o.Cause = found[1], csvstatus.Shorten(found[2], maxCause, "")
		return o, true
	}
	if found := unconverted.FindStringSubmatch(text); found != nil {
		o.Converted, o.Cause = schema.FromAPIVersionAndKind(found[1], found[2]).GroupKind(), csvstatus.Shorten(found[3], maxCause, "")
		return o, true
	}
	return Obstacle{}, false
}

// In reports whether the webhook can be that of an operator in a namespace. Operators can have webhooks of the same name.
func (o Obstacle) In(namespace string) bool { return o.Namespace == "" || o.Namespace == namespace }

// firstOpen returns the step that failed: catalog-operator executes the steps in their order.
func firstOpen(steps []*operatorsv1alpha1.Step) string {
	for _, step := range steps {
		if step != nil && step.Status != operatorsv1alpha1.StepStatusCreated && step.Status != operatorsv1alpha1.StepStatusPresent {
			return step.Resource.Kind + " " + step.Resource.Name
		}
	}
	return ""
}

// Title names an InstallPlan in messages.
func Title(plan *operatorsv1alpha1.InstallPlan) string {
	return fmt.Sprintf("InstallPlan %s/%s", plan.Namespace, plan.Name)
}

// Message names the InstallPlan, the webhook of a ClusterServiceVersion, the cause, and the next step.
func (o Obstacle) Message(plan *operatorsv1alpha1.InstallPlan, csv *operatorsv1alpha1.ClusterServiceVersion) string {
	step := ""
	if o.Step != "" {
		step = " with the step of " + o.Step
	}
	return fmt.Sprintf("%s cannot continue%s: API servers cannot call %s of ClusterServiceVersion %s/%s: %s. %s. %s",
		Title(plan), step, o.webhook(), csv.Namespace, csv.Name, o.Cause, o.remedy(csv), o.next(plan))
}

func (o Obstacle) remedy(csv *operatorsv1alpha1.ClusterServiceVersion) string {
	describe := fmt.Sprintf("Run `kubectl -n %s describe webhookrollouts.olm-webhook-manager.io %s` to see what its pods lack", csv.Namespace, csv.Name)
	if o.Webhook == "" {
		return describe
	}
	return fmt.Sprintf("%s, or disable the webhook by the annotation %s in the config of its Subscription", describe, wellknown.AnnotationDisabledWebhooks)
}

func (o Obstacle) next(plan *operatorsv1alpha1.InstallPlan) string {
	if !o.Failed {
		return "catalog-operator tries again for a minute, and then gives up"
	}
	return fmt.Sprintf("Then run `kubectl -n %s patch installplans.operators.coreos.com %s --subresource=status --type=merge -p '{\"status\":{\"phase\":\"Installing\"}}'`, so that catalog-operator continues",
		plan.Namespace, plan.Name)
}

func (o Obstacle) webhook() string {
	if o.Webhook == "" {
		return fmt.Sprintf("the conversion webhook for %s", o.Converted)
	}
	return "webhook " + o.Webhook
}

// Superseded reports whether a later InstallPlan of the namespace exists. catalog-operator numbers them.
func Superseded(plan *operatorsv1alpha1.InstallPlan, others []*operatorsv1alpha1.InstallPlan) bool {
	for _, other := range others {
		if other.Namespace == plan.Namespace && other.Spec.Generation > plan.Spec.Generation {
			return true
		}
	}
	return false
}
