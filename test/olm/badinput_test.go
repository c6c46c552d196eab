package olm

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/olm/catalog"
)

// A version that cannot be installed leaves the version that it replaces at work, and its failure is reported where a user
// of a catalog finds it. A corrected version replaces both.
func TestBadVersions(t *testing.T) {
	for name, test := range map[string]struct {
		edit    func(*catalog.Bundle)
		reports func(e *env, csv string)
	}{
		"the API server refuses the ClusterServiceVersion": {
			edit: func(b *catalog.Bundle) {
				container := &b.CSV.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0]
				container.Env = append(container.Env, corev1.EnvVar{Name: "TWICE"}, corev1.EnvVar{Name: "TWICE"})
			},
			reports: func(e *env, csv string) {
				e.condition("volumelabels", operatorsv1alpha1.SubscriptionInstallPlanFailed, "error creating csv "+csv)
			},
		},
		"an object of the bundle cannot be read": {
			edit: func(b *catalog.Bundle) {
				b.Others = append(b.Others, &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "spec": "text"}})
			},
			reports: func(e *env, _ string) {
				e.condition("volumelabels", operatorsv1alpha1.SubscriptionResolutionFailed, "Object 'Kind' is missing")
			},
		},
		"a webhook intercepts its own configuration": {
			edit: func(b *catalog.Bundle) {
				rule := &b.CSV.Spec.WebhookDefinitions[0].Rules[0]
				rule.APIGroups, rule.Resources = []string{"admissionregistration.k8s.io"}, []string{"*"}
			},
			reports: func(e *env, csv string) { e.reaches(csv, operatorsv1alpha1.CSVPhaseFailed) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := examples["volumelabels"]
			o.group.UpgradeStrategy = operatorsv1.UpgradeStrategyUnsafeFailForward
			e := o.newEnv(t, "volumelabels")
			v1 := e.example(o.bundle).Release("0.1.0")
			v2, v3 := v1.Release("0.2.0", test.edit), v1.Release("0.3.0")
			e.serve(packageOf(catalog.Chain(stable, v1), v1))
			e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
			e.installs(v1.Package, v1.Name())
			load := o.load(e)

			e.publish(packageOf(catalog.Chain(stable, v1, v2), v1, v2))
			test.reports(e, v2.Name())
			load.GoesOn(o.answer)

			e.publish(packageOf(catalog.Channel{Name: stable, Entries: []catalog.Entry{
				{Name: v1.Name()}, {Name: v2.Name(), Replaces: v1.Name()}, {Name: v3.Name(), Replaces: v2.Name(), Skips: []string{v1.Name()}},
			}}, v1, v2, v3))
			e.installs(v1.Package, v3.Name())
			e.isGone(v1.Name())
			e.isGone(v2.Name())
			load.GoesOn(o.answer)
			load.End(calls.Never)
		})
	}
}

// A catalog that does not answer, or whose content is broken, changes nothing of what is installed. The upgrade that it
// brings later is installed.
func TestCatalogThatIsDown(t *testing.T) {
	for name, breaks := range map[string]func(*env){
		"it does not answer": func(e *env) { e.removeCatalog(e.catalog) },
		"its content is broken": func(e *env) {
			e.publishText([]byte(`{"schema": "olm.package", "name": `))
			e.eventually("opm refuses the content", func() (bool, any) {
				status := kube.Get(e, kubeClient.CoreV1().Pods(e.namespace), catalogPodName(e.catalog)).Status
				return len(status.ContainerStatuses) > 0 && status.ContainerStatuses[0].RestartCount > 0, status
			})
			e.removeCatalog(e.catalog - 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e, o := newExample(t, "volumelabels")
			v1 := e.example(o.bundle).Release("0.1.0")
			v2 := v1.Release("0.2.0")
			e.serve(packageOf(catalog.Chain(stable, v1), v1))
			e.subscribe(operatorsv1alpha1.SubscriptionSpec{Package: v1.Package, Channel: stable})
			e.installs(v1.Package, v1.Name())
			load := o.load(e)

			breaks(e)
			e.eventually("catalog-operator reports that it is not connected", func() (bool, any) {
				state := e.connection()
				return state != connected, state
			})
			load.GoesOn(o.answer)
			e.succeeds(v1.Name())

			e.publish(packageOf(catalog.Chain(stable, v1, v2), v1, v2))
			e.installs(v1.Package, v2.Name())
			e.isGone(v1.Name())
			load.GoesOn(o.answer)
			load.End(calls.Never)
		})
	}
}

// condition waits until a Subscription has a condition whose message contains a text.
func (e *env) condition(subscription string, kind operatorsv1alpha1.SubscriptionConditionType, text string) {
	e.Helper()
	e.eventually(fmt.Sprintf("the Subscription reports %s", kind), func() (bool, any) {
		status := kube.Get(e, olmClient.Subscriptions(e.namespace), subscription).Status
		c := status.GetCondition(kind)
		return c.Status == corev1.ConditionTrue && strings.Contains(c.Message, text), status.Conditions
	})
}
