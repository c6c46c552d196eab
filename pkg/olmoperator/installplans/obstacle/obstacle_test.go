package obstacle

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const (
	installing = operatorsv1alpha1.InstallPlanPhaseInstalling
	failed     = operatorsv1alpha1.InstallPlanPhaseFailed

	// As API servers of Kubernetes 1.36 and catalog-operator v0.46.0 write them.
	refused    = `retrying execution due to error: error creating settings: Internal error occurred: failed calling webhook "v.shop.io": failed to call webhook: Post "https://server-service.shop.svc:443/validate?timeout=10s": no endpoints available for service "server-service"`
	unreadable = `error validating existing CRs against new CRD's schema for "things.shop.io": conversion webhook for shop.io/v1, Kind=Thing failed: Post "https://server-service.shop.svc:443/convert?timeout=30s": no endpoints available for service "server-service"`
	denied     = `retrying execution due to error: admission webhook "v.shop.io" denied the request: too large`
)

func planned(phase operatorsv1alpha1.InstallPlanPhase, message string) *operatorsv1alpha1.InstallPlan {
	step := func(kind, name string, status operatorsv1alpha1.StepStatus) *operatorsv1alpha1.Step {
		return &operatorsv1alpha1.Step{Resource: operatorsv1alpha1.StepResource{Kind: kind, Name: name}, Status: status}
	}
	return &operatorsv1alpha1.InstallPlan{
		ObjectMeta: metav1.ObjectMeta{Namespace: "mall", Name: "install-1", Generation: 7},
		Spec:       operatorsv1alpha1.InstallPlanSpec{Generation: 2},
		Status: operatorsv1alpha1.InstallPlanStatus{Phase: phase, Message: message, Plan: []*operatorsv1alpha1.Step{
			step("ClusterServiceVersion", "other.v1", operatorsv1alpha1.StepStatusCreated), step("CustomResourceDefinition", "others.mall.io", operatorsv1alpha1.StepStatusPresent),
			nil, step("ConfigMap", "settings", operatorsv1alpha1.StepStatusUnknown), step("Service", "later", operatorsv1alpha1.StepStatusUnknown),
		}},
	}
}

func TestOf(t *testing.T) {
	const cause = `Post "https://server-service.shop.svc:443/validate?timeout=10s": no endpoints available for service "server-service"`
	for name, test := range map[string]struct {
		phase   operatorsv1alpha1.InstallPlanPhase
		message string
		want    Obstacle
	}{
		"a webhook that is not called": {installing, refused, Obstacle{Webhook: "v.shop.io", Namespace: "shop", Cause: "failed to call webhook: " + cause, Step: "ConfigMap settings"}},
		"a plan that has failed":       {failed, refused, Obstacle{Webhook: "v.shop.io", Namespace: "shop", Cause: "failed to call webhook: " + cause, Step: "ConfigMap settings", Failed: true}},
		"a conversion webhook": {installing, unreadable, Obstacle{
			Converted: schema.GroupKind{Group: "shop.io", Kind: "Thing"}, Namespace: "shop", Cause: strings.ReplaceAll(strings.ReplaceAll(cause, "validate", "convert"), "10s", "30s"), Step: "ConfigMap settings",
		}},
		"without details":           {installing, `failed calling webhook "v.shop.io"; no further details available`, Obstacle{Webhook: "v.shop.io", Cause: "no further details available", Step: "ConfigMap settings"}},
		"a webhook that denies":     {installing, denied, Obstacle{}},
		"another cause":             {failed, "no such kind", Obstacle{}},
		"a plan that is complete":   {operatorsv1alpha1.InstallPlanPhaseComplete, refused, Obstacle{}},
		"a plan that is not begun":  {operatorsv1alpha1.InstallPlanPhaseRequiresApproval, refused, Obstacle{}},
		"a name that is too long":   {installing, `failed calling webhook "` + strings.Repeat("v", 300) + `": no`, Obstacle{}},
		"a cause that is very long": {installing, `failed calling webhook "v.shop.io": ` + strings.Repeat("x ", 500), Obstacle{Webhook: "v.shop.io", Cause: strings.Repeat("x ", 147) + "x …", Step: "ConfigMap settings"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, found := Of(planned(test.phase, test.message))
			installtest.Same(t, "the obstacle", test.want, got)
			installtest.Same(t, "found", test.want != Obstacle{}, found)
		})
	}
}

func TestMessage(t *testing.T) {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop.v1"}}
	for name, test := range map[string]struct {
		phase   operatorsv1alpha1.InstallPlanPhase
		message string
		want    string
	}{
		"a webhook": {installing, `failed calling webhook "v.shop.io": no endpoints`, "InstallPlan mall/install-1 cannot continue with the step of ConfigMap settings: API servers cannot call webhook v.shop.io of ClusterServiceVersion shop/shop.v1: no endpoints. " +
			"Run `kubectl -n shop describe webhookrollouts.olm-webhook-manager.io shop.v1` to see what its pods lack, or disable the webhook by the annotation olm-webhook-manager.io/disabled-webhooks in the config of its Subscription. " +
			"catalog-operator tries again for a minute, and then gives up"},
		"a conversion webhook, and the plan has failed": {failed, `conversion webhook for shop.io/v1, Kind=Thing failed: no endpoints`, "InstallPlan mall/install-1 cannot continue with the step of ConfigMap settings: API servers cannot call the conversion webhook for Thing.shop.io of ClusterServiceVersion shop/shop.v1: no endpoints. " +
			"Run `kubectl -n shop describe webhookrollouts.olm-webhook-manager.io shop.v1` to see what its pods lack. " +
			"Then run `kubectl -n mall patch installplans.operators.coreos.com install-1 --subresource=status --type=merge -p '{\"status\":{\"phase\":\"Installing\"}}'`, so that catalog-operator continues"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := planned(test.phase, test.message)
			o, _ := Of(plan)
			installtest.Same(t, "the message", test.want, o.Message(plan, csv))
		})
	}
}

func TestIn(t *testing.T) {
	installtest.Same(t, "the namespace of the Service", true, Obstacle{Namespace: "shop"}.In("shop"))
	installtest.Same(t, "a webhook of the same name elsewhere", false, Obstacle{Namespace: "shop"}.In("mall"))
	installtest.Same(t, "a message without a Service", true, Obstacle{}.In("mall"))
}

func TestSuperseded(t *testing.T) {
	plan := planned(failed, refused)
	later, elsewhere := planned(installing, ""), planned(installing, "")
	later.Spec.Generation, elsewhere.Spec.Generation, elsewhere.Namespace = 3, 3, "shop"
	for name, test := range map[string]struct {
		others []*operatorsv1alpha1.InstallPlan
		want   bool
	}{
		"the only one":         {[]*operatorsv1alpha1.InstallPlan{plan}, false},
		"a later one":          {[]*operatorsv1alpha1.InstallPlan{plan, later}, true},
		"in another namespace": {[]*operatorsv1alpha1.InstallPlan{plan, elsewhere}, false},
	} {
		installtest.Same(t, name, test.want, Superseded(plan, test.others))
	}
}
