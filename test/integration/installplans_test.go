package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/installplans"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// An InstallPlan that API servers cannot execute without a webhook is reported on the operator of the webhook and on the
// Subscription, with what the API server answers to such a write, until it continues.
func TestInstallPlanThatAWebhookBlocks(t *testing.T) {
	for name, test := range map[string]struct {
		webhook func(e *env, c *operatorsv1alpha1.ClusterServiceVersion) // of operator.v1, which has no endpoint
		fails   func(e *env) error                                       // the request of the step
		says    string
	}{
		"a webhook": {
			func(_ *env, c *operatorsv1alpha1.ClusterServiceVersion) {
				c.Spec.WebhookDefinitions[0].Rules[0] = rule([]string{""}, "configmaps")
				c.Spec.WebhookDefinitions[0].ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"example.com/planned": "true"}}
			},
			func(e *env) error {
				_, err := e.kube.CoreV1().ConfigMaps(e.namespace).Create(e.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Labels: map[string]string{"example.com/planned": "true"}}}, metav1.CreateOptions{})
				return err
			},
			"API servers cannot call webhook v.example.com of ClusterServiceVersion ",
		},
		"a conversion webhook": {
			func(e *env, c *operatorsv1alpha1.ClusterServiceVersion) {
				crd := newCRD(e, "hoses", "v1", "v2")
				newObject(e, crd)
				c.Spec.WebhookDefinitions = converting("operator.v1", crd.Name).Spec.WebhookDefinitions
				c.Spec.InstallModes = converting("operator.v1", crd.Name).Spec.InstallModes
				c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: crd.Name, Version: "v1", Kind: "Thing"}}
			},
			func(e *env) error {
				crd := things(e, "hoses", "v2", "v1")
				_, err := objects(e, crd).List(e.ctx, metav1.ListOptions{})
				return err
			},
			"API servers cannot call the conversion webhook for Thing.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			defineInstallPlans(e)
			m := manageWith(e, cluster.Config(), reportsInstallPlans, func(o *controller.Options) { o.WithOLM = true })
			operator := csv("operator.v1", "server")
			test.webhook(e, operator)
			e.install(operator)
			other := csv("other.v1", "other")
			other.Spec.WebhookDefinitions[0].GenerateName = "other.example.com"
			e.install(other)

			var refusal error
			e.eventually("the API server cannot call the webhook", func() (bool, any) { refusal = test.fails(e); return refusal != nil, nil })
			subscription := kube.Create(e, e.olm.Subscriptions(e.namespace), &operatorsv1alpha1.Subscription{
				ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: &operatorsv1alpha1.SubscriptionSpec{Package: "shop", CatalogSource: "catalog", CatalogSourceNamespace: "olm"},
			})
			plan := kube.Create(e, e.olm.InstallPlans(e.namespace), planOf(subscription, "install-1"))
			stateOfPlan(e, plan.Name, operatorsv1alpha1.InstallPlanPhaseInstalling, "retrying execution due to error: error creating settings: "+refusal.Error())
			blocks := func() string {
				if c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionBlocksInstallPlan); c != nil {
					return c.Message
				}
				return ""
			}
			e.eventually("the WebhookRollout reports it", func() (bool, any) {
				return strings.Contains(blocks(), "InstallPlan "+e.namespace+"/install-1 cannot continue with the step of ConfigMap settings: "+test.says), refusal
			})
			m.emits("Warning BlocksInstallPlan InstallPlan " + e.namespace + "/install-1")
			m.emits("Warning InstallPlanBlocked InstallPlan " + e.namespace + "/install-1")
			same(t, "the condition of another operator", meta.FindStatusCondition(e.rollout("other.v1").Conditions, managerv1alpha1.ConditionBlocksInstallPlan), nil)

			stateOfPlan(e, plan.Name, operatorsv1alpha1.InstallPlanPhaseFailed, "error creating settings: "+refusal.Error())
			e.eventually("the next step is to continue the plan", func() (bool, any) {
				return strings.Contains(blocks(), "patch installplans.operators.coreos.com install-1 "), blocks()
			})
			m.looksAgain("operator.v1") // which writes the status, too
			installtest.Contains(t, blocks(), "install-1")
			stateOfPlan(e, plan.Name, operatorsv1alpha1.InstallPlanPhaseComplete, "")
			e.eventually("nothing is reported", func() (bool, any) { return blocks() == "", blocks() })
			for _, event := range m.reported() {
				if strings.Contains(event, "InstallPlanBlocked") {
					t.Errorf("another event: %s", event)
				}
			}
		})
	}
}

// stateOfPlan is what catalog-operator writes.
func stateOfPlan(e *env, name string, phase operatorsv1alpha1.InstallPlanPhase, message string) {
	e.Helper()
	client := e.olm.InstallPlans(e.namespace)
	plan := kube.Get(e, client, name)
	plan.Status.Phase, plan.Status.Message = phase, message
	plan.Status.CatalogSources = []string{}
	plan.Status.Plan = []*operatorsv1alpha1.Step{
		{Resolving: "shop.v1", Status: operatorsv1alpha1.StepStatusCreated, Resource: operatorsv1alpha1.StepResource{Kind: "ClusterServiceVersion", Name: "shop.v1"}},
		{Resolving: "shop.v1", Status: operatorsv1alpha1.StepStatusUnknown, Resource: operatorsv1alpha1.StepResource{Kind: "ConfigMap", Name: "settings"}},
	}
	kube.UpdateStatus(e, client, plan)
}

// Each of many InstallPlans is reported once on its Subscription. The condition names the first ones, and how many more
// there are.
func TestManyInstallPlansThatAWebhookBlocks(t *testing.T) {
	const many = 80
	e := newOperatorEnv(t)
	defineInstallPlans(e)
	m := manageWith(e, cluster.Config(), reportsInstallPlans, func(o *controller.Options) { o.WithOLM = true })
	e.install(csv("operator.v1", "server"))
	refusal := fmt.Sprintf("error creating settings: Internal error occurred: failed calling webhook %q: failed to call webhook: Post \"https://server-service.%s.svc:443/validate?timeout=10s\": no endpoints available for service \"server-service\"", "v.example.com", e.namespace)
	var want []string
	for i := range many {
		name := fmt.Sprintf("shop-%02d", i)
		s := kube.Create(e, e.olm.Subscriptions(e.namespace), &operatorsv1alpha1.Subscription{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: &operatorsv1alpha1.SubscriptionSpec{Package: name, CatalogSource: "catalog", CatalogSourceNamespace: "olm"},
		})
		kube.Create(e, e.olm.InstallPlans(e.namespace), planOf(s, "install-"+name))
		stateOfPlan(e, "install-"+name, operatorsv1alpha1.InstallPlanPhaseFailed, refusal)
		want = append(want, fmt.Sprintf("InstallPlan %s/install-%s", e.namespace, name))
	}
	var plans []string
	becomes(e, "the events", func() []string {
		for _, event := range m.reported() {
			if text, found := strings.CutPrefix(event, "Warning InstallPlanBlocked "); found {
				title, _, _ := strings.Cut(text, " cannot continue")
				plans = append(plans, title)
			}
		}
		slices.Sort(plans)
		return plans
	}, want)
	e.eventually("the condition has the number of further InstallPlans", func() (bool, any) {
		c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionBlocksInstallPlan)
		return c != nil && strings.HasSuffix(c.Message, "; and 70 more InstallPlans: events of their Subscriptions report the cause"), c
	})
}

func reportsInstallPlans(set clients.Set, caches *informers.Caches, events record.EventRecorder) olmoperator.Controllers {
	return olmoperator.Controllers{installtest.OrPanic(installplans.New(set.OLM, caches, events, logger()))}
}

// planOf is an approved InstallPlan of a Subscription.
func planOf(s *operatorsv1alpha1.Subscription, name string) *operatorsv1alpha1.InstallPlan {
	return &operatorsv1alpha1.InstallPlan{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: []metav1.OwnerReference{{APIVersion: operatorsv1alpha1.SchemeGroupVersion.String(), Kind: "Subscription", Name: s.Name, UID: s.UID}}},
		Spec:       operatorsv1alpha1.InstallPlanSpec{Approval: operatorsv1alpha1.ApprovalAutomatic, Approved: true, Generation: 1},
	}
}
