package e2e

import (
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// An operator is upgraded twice, and again to a version whose Deployment has another name. The webhook that stays as it
// is answers every call.
func TestUpgradeUnderLoad(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	v1, v2, v3 := version("hook.v1", "", 10), version("hook.v2", "hook.v1", 9), version("hook.v3", "hook.v2", 8)
	v4 := behind("renamed", version("hook.v4", "hook.v3", 7))
	e.create(v1)
	e.succeeds("hook.v1")
	load := e.startLoad()
	load.GoesOn(calls.Denied)
	for _, next := range []*operatorsv1alpha1.ClusterServiceVersion{v2, v3, v4} {
		e.create(next)
		e.succeeds(next.Name)
		isGone(e, next.Spec.Replaces)
		want := []string{"changed.hook.example.com", "configmaps.hook.example.com", "only-in-" + next.Name + ".example.com"}
		installtest.Same(t, "registered webhooks with "+next.Name, want, webhookNames(e))
		load.GoesOn(calls.Denied)
	}
	e.eventually("the Deployment of the old name no longer exists, with its pods", func() (bool, any) {
		_, err := kubeClient.AppsV1().Deployments(e.namespace).Get(e.ctx, "hook", metav1.GetOptions{})
		pods := len(e.pods())
		return apierrors.IsNotFound(err) && pods == 2, pods
	})
	load.GoesOn(calls.Denied)
	load.End(calls.Never)
}

func behind(deployment string, csv *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	spec := &csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0]
	labels := map[string]string{"app": deployment}
	spec.Name, spec.Spec.Selector.MatchLabels, spec.Spec.Template.Labels = deployment, labels, labels
	for i := range csv.Spec.WebhookDefinitions {
		csv.Spec.WebhookDefinitions[i].DeploymentName = deployment
	}
	return csv
}

// A version that never gets ready costs no call either: its pods do not answer, and those
// of the version before do. When it is deleted, all is as before.
func TestFailedUpgradeUnderLoad(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	v1, v2 := version("hook.v1", "", 10), version("hook.v2", "hook.v1", 9)
	v2.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template.Spec.Containers[0].Args = []string{"nothing"}
	e.create(v1)
	e.succeeds("hook.v1")
	before := webhookNames(e)
	load := e.startLoad()
	e.create(v2)
	reaches(e, "hook.v2", operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting)
	e.eventually("the new version is rolled out, and fails", func() (bool, any) {
		d := kube.Get(e, kubeClient.AppsV1().Deployments(e.namespace), "hook")
		return d.Status.ObservedGeneration == d.Generation && d.Status.UnavailableReplicas > 0, d.Status
	})
	load.GoesOn(calls.Denied)
	e.must(olmClient.ClusterServiceVersions(e.namespace).Delete(e.ctx, "hook.v2", metav1.DeleteOptions{}))
	e.eventually("the version before has succeeded again", func() (bool, any) {
		status := e.get("hook.v1").Status
		return status.Phase == operatorsv1alpha1.CSVPhaseSucceeded && slices.Equal(webhookNames(e), before), status.Message
	})
	load.GoesOn(calls.Denied)
	load.End(calls.Never)
}

// version is one version of an operator. The webhook that denies ConfigMaps is the same in all, another has another
// timeout in each, and a third exists in this version only.
func version(name, replaces string, timeout int32) *operatorsv1alpha1.ClusterServiceVersion {
	spec := server("hook", "--drain")
	spec.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(10))
	csv := hookCSV(name, spec)
	csv.Spec.Replaces = replaces
	for _, generateName := range []string{"changed.hook.example.com", "only-in-" + name + ".example.com"} {
		other := csv.Spec.WebhookDefinitions[0].DeepCopy()
		other.GenerateName, other.TimeoutSeconds = generateName, &timeout
		other.Rules[0].Resources = []string{"secrets"}
		csv.Spec.WebhookDefinitions = append(csv.Spec.WebhookDefinitions, *other)
	}
	return csv
}

func webhookNames(e *env) []string {
	e.Helper()
	list := kube.List(e, kubeClient.AdmissionregistrationV1().ValidatingWebhookConfigurations(), e.ours())
	var names []string
	for _, c := range list.Items {
		names = append(names, c.Webhooks[0].Name)
	}
	slices.Sort(names)
	return names
}
