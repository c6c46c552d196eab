package bundletest

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Deployments returns the parsed flags by Deployment, and checks the Deployments of webhooks.
func Deployments(t *testing.T, file string, newBuilder func() *hosting.Builder) map[string]*pflag.FlagSet {
	t.Helper()
	csv := CSV(t, file)
	flags := map[string]*pflag.FlagSet{}
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		command := newBuilder().Command()
		if err := command.ParseFlags(d.Spec.Template.Spec.Containers[0].Args); err != nil {
			t.Fatalf("%s: Deployment %s: %v", file, d.Name, err)
		}
		flags[d.Name] = command.Flags()
	}
	for _, w := range csv.Spec.WebhookDefinitions {
		d := deployment(t, csv, w.DeploymentName)
		fitsWebhook(t, d, w)
		isGivenTimeToDrain(t, d, flags[d.Name])
		mayBeDrainedNodeByNode(t, d, filepath.Dir(file))
	}
	return flags
}

func deployment(t *testing.T, csv *operatorsv1alpha1.ClusterServiceVersion, name string) operatorsv1alpha1.StrategyDeploymentSpec {
	t.Helper()
	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	i := slices.IndexFunc(deployments, func(d operatorsv1alpha1.StrategyDeploymentSpec) bool { return d.Name == name })
	if i < 0 {
		t.Fatalf("%s has no Deployment %q", csv.Name, name)
	}
	return deployments[i]
}

func fitsWebhook(t *testing.T, d operatorsv1alpha1.StrategyDeploymentSpec, w operatorsv1alpha1.WebhookDescription) {
	t.Helper()
	if d.Spec.Replicas == nil || *d.Spec.Replicas < 2 {
		t.Errorf("Deployment %s serves webhooks and has not two replicas", d.Name)
	}
	container := d.Spec.Template.Spec.Containers[0]
	if probe := container.ReadinessProbe; probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != "/readyz" {
		t.Errorf("Deployment %s serves webhooks and has no readiness probe of /readyz", d.Name)
	}
	if !slices.ContainsFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == w.TargetPort.IntVal }) {
		t.Errorf("targetPort %s of webhook %s is no port of Deployment %s", w.TargetPort, w.GenerateName, d.Name)
	}
}

func isGivenTimeToDrain(t *testing.T, d operatorsv1alpha1.StrategyDeploymentSpec, flags *pflag.FlagSet) {
	t.Helper()
	needed := duration(t, flags, "drain-period")*7/4 + duration(t, flags, "drain-timeout")
	if grace := time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second; grace <= needed {
		t.Errorf("Deployment %s: the kubelet waits %s for a server that needs %s", d.Name, grace, needed)
	}
}

func duration(t *testing.T, flags *pflag.FlagSet, name string) time.Duration {
	t.Helper()
	d, err := flags.GetDuration(name)
	installtest.Must(t, err)
	return d
}

func mayBeDrainedNodeByNode(t *testing.T, d operatorsv1alpha1.StrategyDeploymentSpec, manifests string) {
	t.Helper()
	files, err := filepath.Glob(manifests + "/*_poddisruptionbudget.yaml")
	installtest.Must(t, err)
	for _, file := range files {
		budget := Read[policyv1.PodDisruptionBudget](t, file)
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if selector.Matches(labels.Set(d.Spec.Template.Labels)) {
			return
		}
	}
	t.Errorf("no PodDisruptionBudget in %s is for the pods of Deployment %s", manifests, d.Name)
}
