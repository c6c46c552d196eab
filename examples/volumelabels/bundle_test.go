package main

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/volumelabels/labelling"
)

var csvFiles = []string{
	"bundle-one-process/manifests/volumelabels.clusterserviceversion.yaml",
	"bundle-two-processes/manifests/volumelabels.clusterserviceversion.yaml",
}

func TestBundlesRegisterWhatTheServerServes(t *testing.T) {
	scope := admissionregistrationv1.ClusterScope
	rules := []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"persistentvolumes"}, Scope: &scope},
	}}
	for _, file := range csvFiles {
		csv := read[operatorsv1alpha1.ClusterServiceVersion](t, file)
		if n := len(csv.Spec.WebhookDefinitions); n != 1 {
			t.Fatalf("%s has %d webhook definitions", file, n)
		}
		webhook := csv.Spec.WebhookDefinitions[0]
		if *webhook.WebhookPath != webhookPath {
			t.Errorf("%s: webhookPath is %s and the server serves %s", file, *webhook.WebhookPath, webhookPath)
		}
		if diff := cmp.Diff(rules, webhook.Rules); diff != "" {
			t.Errorf("%s: rules (-server +bundle):\n%s", file, diff)
		}
	}
}

// TestDeployments has each run what it is for: the flags are read as the command reads them.
func TestDeployments(t *testing.T) {
	type runs struct{ Controllers, Webhooks []string }
	got := map[string]runs{}
	for _, file := range csvFiles {
		csv := read[operatorsv1alpha1.ClusterServiceVersion](t, file)
		for _, d := range csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			pod := d.Spec.Template.Spec
			flags := newBuilder().Command()
			if err := flags.ParseFlags(pod.Containers[0].Args); err != nil {
				t.Fatalf("%s: Deployment %s: %v", file, d.Name, err)
			}
			controllers, err := flags.Flags().GetStringSlice("controllers")
			if err != nil {
				t.Fatal(err)
			}
			webhooks, err := flags.Flags().GetStringSlice("webhooks")
			if err != nil {
				t.Fatal(err)
			}
			got[d.Name] = runs{controllers, webhooks}

			if len(webhooks) == 0 {
				continue
			}
			period, err := flags.Flags().GetDuration("drain-period")
			if err != nil {
				t.Fatal(err)
			}
			timeout, err := flags.Flags().GetDuration("drain-timeout")
			if err != nil {
				t.Fatal(err)
			}
			if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace <= period+timeout {
				t.Errorf("%s: Deployment %s: the kubelet waits %s for a server that needs %s and %s", file, d.Name, grace, period, timeout)
			}
		}
	}
	want := map[string]runs{
		"volumelabels":            {[]string{"*"}, []string{"*"}},
		"volumelabels-webhook":    {[]string{"-" + name}, []string{"*"}},
		"volumelabels-controller": {[]string{"*"}, []string{}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what runs (-want +got):\n%s", diff)
	}
}

func TestInstallGrantsWhatTheBundlesAsk(t *testing.T) {
	data, err := os.ReadFile("install/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	granted := map[string][]rbacv1.PolicyRule{}
	for _, document := range bytes.Split(data, []byte("\n---\n")) {
		role := decode[struct {
			Kind  string              `json:"kind"`
			Rules []rbacv1.PolicyRule `json:"rules"`
		}](t, document)
		granted[role.Kind] = append(granted[role.Kind], role.Rules...)
	}
	for _, file := range csvFiles {
		asked := map[string][]rbacv1.PolicyRule{"ServiceAccount": nil, "RoleBinding": nil, "ClusterRoleBinding": nil}
		strategy := read[operatorsv1alpha1.ClusterServiceVersion](t, file).Spec.InstallStrategy.StrategySpec
		for _, p := range strategy.Permissions {
			asked["Role"] = append(asked["Role"], p.Rules...)
		}
		for _, p := range strategy.ClusterPermissions {
			asked["ClusterRole"] = append(asked["ClusterRole"], p.Rules...)
		}
		if diff := cmp.Diff(asked, granted); diff != "" {
			t.Errorf("%s: rules (-bundle +install):\n%s", file, diff)
		}
	}
}

func TestCatalogueOfTheInstallation(t *testing.T) {
	file := read[struct {
		Data map[string]string `json:"data"`
	}](t, "install/catalogue.yaml")
	catalogue, err := labelling.ParseCatalogue([]byte(file.Data["volumes.yaml"]))
	if err != nil {
		t.Fatal(err)
	}
	if _, known := catalogue[labelling.Volume{Driver: "disk.csi.example.com", Handle: "vol-0001"}]; !known {
		t.Error("it does not know the volume of samples/persistentvolume.yaml")
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

func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var value T
	if err := yaml.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
