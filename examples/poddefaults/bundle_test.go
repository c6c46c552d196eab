package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
)

const csvFile = "bundle/manifests/poddefaults.clusterserviceversion.yaml"

func TestBundleRegistersWhatTheServerServes(t *testing.T) {
	csv := read[operatorsv1alpha1.ClusterServiceVersion](t, csvFile)
	if n := len(csv.Spec.WebhookDefinitions); n != 1 {
		t.Fatalf("%d webhook definitions", n)
	}
	webhook, served := csv.Spec.WebhookDefinitions[0], newWebhook(newStore())
	if *webhook.WebhookPath != served.Path {
		t.Errorf("webhookPath is %s and the server serves %s", *webhook.WebhookPath, served.Path)
	}
	scope := admissionregistrationv1.NamespacedScope
	want := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.OperationType(served.Operations[0])},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}, Scope: &scope},
	}}
	if diff := cmp.Diff(want, webhook.Rules); diff != "" {
		t.Errorf("rules (-server +bundle):\n%s", diff)
	}
}

// TestOwnPodsCanAlwaysStart: a webhook that its own pods wait for stays down for ever.
func TestOwnPodsCanAlwaysStart(t *testing.T) {
	csv := read[operatorsv1alpha1.ClusterServiceVersion](t, csvFile)
	selector, err := metav1.LabelSelectorAsSelector(csv.Spec.WebhookDefinitions[0].ObjectSelector)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if selector.Matches(labels.Set(d.Spec.Template.Labels)) {
			t.Errorf("the webhook is called for the pods of Deployment %s", d.Name)
		}
	}
	if !selector.Matches(labels.Set{"app.kubernetes.io/name": "notebook"}) {
		t.Error("the webhook is not called for other pods")
	}
}

func TestPodsAreGivenTheTimeToDrain(t *testing.T) {
	csv := read[operatorsv1alpha1.ClusterServiceVersion](t, csvFile)
	command := newBuilder().Command()
	for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		pod := d.Spec.Template.Spec
		if err := command.ParseFlags(pod.Containers[0].Args); err != nil {
			t.Fatalf("Deployment %s: %v", d.Name, err)
		}
		period, err := command.Flags().GetDuration("drain-period")
		if err != nil {
			t.Fatal(err)
		}
		timeout, err := command.Flags().GetDuration("drain-timeout")
		if err != nil {
			t.Fatal(err)
		}
		if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace <= period+timeout {
			t.Errorf("Deployment %s: the kubelet waits %s for a server that needs %s and %s", d.Name, grace, period, timeout)
		}
	}
}

func TestInstallGrantsWhatTheBundleAsks(t *testing.T) {
	csv := read[operatorsv1alpha1.ClusterServiceVersion](t, csvFile)
	asked := csv.Spec.InstallStrategy.StrategySpec.ClusterPermissions
	if len(asked) != 1 {
		t.Fatalf("clusterPermissions for %d accounts", len(asked))
	}
	data, err := os.ReadFile("install/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(data, []byte("\n---\n"))
	account := decode[corev1.ServiceAccount](t, documents[0])
	role := decode[rbacv1.ClusterRole](t, documents[1])
	if account.Name != asked[0].ServiceAccountName {
		t.Errorf("the account is %s, the bundle asks for %s", account.Name, asked[0].ServiceAccountName)
	}
	if diff := cmp.Diff(asked[0].Rules, role.Rules); diff != "" {
		t.Errorf("rules (-bundle +install):\n%s", diff)
	}
}

func TestKustomizationHoldsTheWholeBundle(t *testing.T) {
	kustomization := read[struct {
		metav1.TypeMeta `json:",inline"`
		Namespace       string   `json:"namespace"`
		Resources       []string `json:"resources"`
	}](t, "kustomization.yaml")
	for _, folder := range []string{"bundle/manifests", "install"} {
		files, err := filepath.Glob(folder + "/*.yaml")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s holds nothing: %v", folder, err)
		}
		for _, file := range files {
			if !slices.Contains(kustomization.Resources, file) {
				t.Errorf("kustomization.yaml misses %s", file)
			}
		}
	}
}

func TestSamples(t *testing.T) {
	csv := read[operatorsv1alpha1.ClusterServiceVersion](t, csvFile)
	sample := read[v1alpha1.PodDefault](t, "samples/poddefault.yaml")
	var examples []v1alpha1.PodDefault
	if err := json.Unmarshal([]byte(csv.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]v1alpha1.PodDefault{sample}, examples); diff != "" {
		t.Errorf("alm-examples (-sample +bundle):\n%s", diff)
	}

	selectable, err := merge.Compile(&sample)
	if err != nil {
		t.Fatal(err)
	}
	for file, denied := range map[string]bool{"samples/pod.yaml": false, "samples/pod-conflict.yaml": true} {
		pod := read[corev1.Pod](t, file)
		selected := merge.Select(&pod, "", []*merge.Selectable{selectable})
		if len(selected) != 1 {
			t.Errorf("%s is not selected", file)
		}
		if err := merge.Apply(&pod, selected); (err != nil) != denied {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func read[T any](t *testing.T, file string) T {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return decode[T](t, data)
}

// decode refuses fields that the type does not have.
func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var value T
	if err := yaml.UnmarshalStrict(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
