package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
)

const csvFile = "bundle/manifests/projectpolicy.clusterserviceversion.yaml"

func TestBundleRegistersWhatTheServerServes(t *testing.T) {
	csv := read[operatorsv1alpha1.ClusterServiceVersion](t, csvFile)
	if n := len(csv.Spec.WebhookDefinitions); n != 1 {
		t.Fatalf("%d webhook definitions", n)
	}
	webhook := csv.Spec.WebhookDefinitions[0]

	if *webhook.WebhookPath != webhookPath {
		t.Errorf("webhookPath is %s and the server serves %s", *webhook.WebhookPath, webhookPath)
	}
	if timeout := *webhook.TimeoutSeconds; shutdownPeriod.Seconds() <= float64(timeout) {
		t.Errorf("the server waits %s for its last calls and the API server waits %d s for an answer", shutdownPeriod, timeout)
	}
	exempt := webhook.ObjectSelector.MatchExpressions
	want := []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: systemNamespaces,
	}}
	if diff := cmp.Diff(want, exempt); diff != "" {
		t.Errorf("the objectSelector spares other namespaces than the server (-server +bundle):\n%s", diff)
	}

	deployments := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	if len(deployments) != 1 || deployments[0].Name != webhook.DeploymentName {
		t.Fatalf("the webhook's Deployment is %s, the bundle's are %v", webhook.DeploymentName, deployments)
	}
	pod := deployments[0].Spec.Template.Spec
	if !slices.ContainsFunc(pod.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.ContainerPort == webhook.TargetPort.IntVal }) {
		t.Errorf("targetPort %s is no port of the container", webhook.TargetPort)
	}
	if grace := float64(*pod.TerminationGracePeriodSeconds); grace <= (drainPeriod + shutdownPeriod).Seconds() {
		t.Errorf("the kubelet waits %v s for a server that needs %s and %s", grace, drainPeriod, shutdownPeriod)
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
	sample := read[policy.ProjectPolicy](t, "samples/projectpolicy.yaml")
	var examples []policy.ProjectPolicy
	if err := json.Unmarshal([]byte(csv.Annotations["alm-examples"]), &examples); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]policy.ProjectPolicy{sample}, examples); diff != "" {
		t.Errorf("alm-examples (-sample +bundle):\n%s", diff)
	}

	compiled, err := policy.Compile(&sample)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]string{
		"samples/namespace-allowed.yaml": nil,
		"samples/namespace-denied.yaml":  {"metadata.name", "metadata.labels[team]", "metadata.labels[cost-centre]"},
	} {
		namespace := read[corev1.Namespace](t, file)
		var got []string
		for _, v := range policy.Check(policy.Namespace{Name: namespace.Name, Labels: namespace.Labels}, []*policy.Compiled{compiled}) {
			got = append(got, v.Field)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s breaks (-want +got):\n%s", file, diff)
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
