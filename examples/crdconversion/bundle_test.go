package main

import (
	"bytes"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func readCSV(t *testing.T, bundle string) operatorsv1alpha1.ClusterServiceVersion {
	t.Helper()
	return read[operatorsv1alpha1.ClusterServiceVersion](t, bundle+"/manifests/crdconversion.clusterserviceversion.yaml")
}

func readCRD(t *testing.T, bundle string) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return read[apiextensionsv1.CustomResourceDefinition](t, bundle+"/manifests/crdconversion.example.com_caches.yaml")
}

// TestConversionWebhook has what OLM asks of a bundle with a conversion webhook.
func TestConversionWebhook(t *testing.T) {
	csv, crd := readCSV(t, "bundle-v2"), readCRD(t, "bundle-v2")
	if n := len(csv.Spec.WebhookDefinitions); n != 1 {
		t.Fatalf("%d webhook definitions", n)
	}
	webhook := csv.Spec.WebhookDefinitions[0]

	for _, mode := range csv.Spec.InstallModes {
		if mode.Supported != (mode.Type == operatorsv1alpha1.InstallModeTypeAllNamespaces) {
			t.Errorf("install mode %s: supported is %v", mode.Type, mode.Supported)
		}
	}
	if diff := cmp.Diff([]string{crd.Name}, webhook.ConversionCRDs); diff != "" {
		t.Errorf("conversionCRDs (-want +got):\n%s", diff)
	}
	if !slices.ContainsFunc(csv.Spec.CustomResourceDefinitions.Owned, func(d operatorsv1alpha1.CRDDescription) bool { return d.Name == crd.Name }) {
		t.Errorf("%s is not owned", crd.Name)
	}
	if crd.Spec.PreserveUnknownFields {
		t.Error("preserveUnknownFields is true")
	}
	if served := newWebhook().Path; *webhook.WebhookPath != served {
		t.Errorf("webhookPath is %s and the server serves %s", *webhook.WebhookPath, served)
	}
}

// TestConversionIsNeverNone: the API server would drop fields until the webhook is
// registered.
func TestConversionIsNeverNone(t *testing.T) {
	webhook, conversion := readCSV(t, "bundle-v2").Spec.WebhookDefinitions[0], readCRD(t, "bundle-v2").Spec.Conversion
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter {
		t.Fatalf("conversion is %+v", conversion)
	}
	namespace := read[struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
	}](t, "install/namespace.yaml").Metadata.Name
	want := &apiextensionsv1.ServiceReference{
		Namespace: namespace, Name: webhook.DeploymentName + "-service", Path: webhook.WebhookPath, Port: &webhook.ContainerPort,
	}
	if diff := cmp.Diff(want, conversion.Webhook.ClientConfig.Service); diff != "" {
		t.Errorf("Service (-as OLM names it +definition):\n%s", diff)
	}
}

// TestUpgrade has the definition of the next version keep all that the one before it has.
func TestUpgrade(t *testing.T) {
	if replaces := readCSV(t, "bundle-v2").Spec.Replaces; replaces != readCSV(t, "bundle-v1").Name {
		t.Errorf("v2 replaces %s", replaces)
	}
	before, after := readCRD(t, "bundle-v1").Spec.Versions[0], readCRD(t, "bundle-v2").Spec.Versions[0]
	if !before.Storage || after.Storage {
		t.Errorf("v1 is what is stored: %v before, %v after", before.Storage, after.Storage)
	}
	after.Storage = before.Storage
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("v1 (-before +after):\n%s", diff)
	}
}

// TestDeployments has each run what it is for: the flags are read as the command reads them.
func TestDeployments(t *testing.T) {
	type runs struct {
		Controllers, Webhooks []string
		Version               string
	}
	for bundle, want := range map[string]map[string]runs{
		"bundle-v1": {"crdconversion-operator": {[]string{"*"}, []string{}, "v1"}},
		"bundle-v2": {"crdconversion-operator": {[]string{"*"}, []string{}, "v2"}, "crdconversion-webhook": {[]string{"-caches"}, []string{"*"}, "v2"}},
	} {
		got := map[string]runs{}
		for _, d := range readCSV(t, bundle).Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
			flags := newBuilder().Command()
			if err := flags.ParseFlags(d.Spec.Template.Spec.Containers[0].Args); err != nil {
				t.Fatalf("%s: Deployment %s: %v", bundle, d.Name, err)
			}
			controllers, err := flags.Flags().GetStringSlice("controllers")
			if err != nil {
				t.Fatal(err)
			}
			webhooks, err := flags.Flags().GetStringSlice("webhooks")
			if err != nil {
				t.Fatal(err)
			}
			got[d.Name] = runs{controllers, webhooks, flags.Flags().Lookup("cache-version").Value.String()}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("what runs of %s (-want +got):\n%s", bundle, diff)
		}
	}
}

func TestWebhookIsGivenTheTimeToDrain(t *testing.T) {
	for _, d := range readCSV(t, "bundle-v2").Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		if d.Name != "crdconversion-webhook" {
			continue
		}
		flags := newBuilder().Command().Flags()
		period, err := flags.GetDuration("drain-period")
		if err != nil {
			t.Fatal(err)
		}
		timeout, err := flags.GetDuration("drain-timeout")
		if err != nil {
			t.Fatal(err)
		}
		if grace := time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second; grace <= period+timeout {
			t.Errorf("the kubelet waits %s for a server that needs %s and %s", grace, period, timeout)
		}
		return
	}
	t.Error("there is no Deployment of the webhook")
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
	for _, bundle := range []string{"bundle-v1", "bundle-v2"} {
		asked := map[string][]rbacv1.PolicyRule{"ServiceAccount": nil, "RoleBinding": nil, "ClusterRoleBinding": nil}
		strategy := readCSV(t, bundle).Spec.InstallStrategy.StrategySpec
		for _, p := range strategy.Permissions {
			asked["Role"] = append(asked["Role"], p.Rules...)
		}
		for _, p := range strategy.ClusterPermissions {
			asked["ClusterRole"] = append(asked["ClusterRole"], p.Rules...)
		}
		if diff := cmp.Diff(asked, granted); diff != "" {
			t.Errorf("%s: rules (-bundle +install):\n%s", bundle, diff)
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

func decode[T any](t *testing.T, data []byte) T {
	t.Helper()
	var value T
	if err := yaml.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
