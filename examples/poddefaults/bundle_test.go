package main

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/bundletest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const csvFile = "bundle/manifests/poddefaults.clusterserviceversion.yaml"

func TestBundleRegistersWhatTheServerServes(t *testing.T) {
	bundletest.AdmissionWebhook(t, csvFile, newWebhook(newStore()), "pods", admissionregistrationv1.NamespacedScope)
}

// TestOwnPodsCanAlwaysStart: a webhook that its own pods need could never start again.
func TestOwnPodsCanAlwaysStart(t *testing.T) {
	csv := bundletest.CSV(t, csvFile)
	selector, err := metav1.LabelSelectorAsSelector(csv.Spec.WebhookDefinitions[0].ObjectSelector)
	installtest.Must(t, err)
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		installtest.Same(t, "the webhook is called for the pods of Deployment "+d.Name, false, selector.Matches(labels.Set(d.Spec.Template.Labels)))
	}
	installtest.Same(t, "the webhook is called for other pods", true, selector.Matches(labels.Set{"app.kubernetes.io/name": "notebook"}))
}

func TestDeployments(t *testing.T) {
	bundletest.Deployments(t, csvFile, newBuilder)
}

func TestInstall(t *testing.T) {
	bundletest.InstallGrants(t, csvFile)
	bundletest.KustomizationHolds(t, "bundle/manifests", "install")
}

func TestSamples(t *testing.T) {
	sample := bundletest.Sample[v1alpha1.PodDefault](t, "samples/poddefault.yaml", csvFile)
	selectable, err := merge.Compile(&sample)
	installtest.Must(t, err)
	for file, denied := range map[string]bool{"samples/pod.yaml": false, "samples/pod-conflict.yaml": true} {
		pod := bundletest.Read[corev1.Pod](t, file)
		selected := merge.Select(&pod, "", []*merge.Selectable{selectable})
		installtest.Same(t, "PodDefaults that select "+file, 1, len(selected))
		installtest.Same(t, file+" is denied", denied, merge.Apply(&pod, selected) != nil)
	}
}
