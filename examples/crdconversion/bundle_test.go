package main

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/bundletest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func csvFile(bundle string) string {
	return bundle + "/manifests/crdconversion.clusterserviceversion.yaml"
}

func readCRD(t *testing.T, bundle string) apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return bundletest.Read[apiextensionsv1.CustomResourceDefinition](t, bundle+"/manifests/crdconversion.example.com_caches.yaml")
}

func TestConversionWebhook(t *testing.T) {
	csv, crd := bundletest.CSV(t, csvFile("bundle-v2")), readCRD(t, "bundle-v2")
	webhook := bundletest.Webhook(t, csvFile("bundle-v2"), newWebhook())

	for _, mode := range csv.Spec.InstallModes {
		installtest.Same(t, "supported install mode "+string(mode.Type), mode.Type == operatorsv1alpha1.InstallModeTypeAllNamespaces, mode.Supported)
	}
	installtest.Same(t, "conversionCRDs", []string{crd.Name}, webhook.ConversionCRDs)
	owned := slices.ContainsFunc(csv.Spec.CustomResourceDefinitions.Owned, func(d operatorsv1alpha1.CRDDescription) bool { return d.Name == crd.Name })
	installtest.Same(t, crd.Name+" is owned", true, owned)
	installtest.Same(t, "preserveUnknownFields", false, crd.Spec.PreserveUnknownFields)
}

// With None, the API server would drop fields until the webhook is registered.
func TestConversionIsNeverNone(t *testing.T) {
	webhook, conversion := bundletest.CSV(t, csvFile("bundle-v2")).Spec.WebhookDefinitions[0], readCRD(t, "bundle-v2").Spec.Conversion
	if conversion == nil || conversion.Strategy != apiextensionsv1.WebhookConverter {
		t.Fatalf("conversion is %+v", conversion)
	}
	namespace := bundletest.Read[corev1.Namespace](t, "install/namespace.yaml").Name
	want := &apiextensionsv1.ServiceReference{
		Namespace: namespace, Name: webhook.DeploymentName + "-service", Path: webhook.WebhookPath, Port: &webhook.ContainerPort,
	}
	installtest.Same(t, "Service", want, conversion.Webhook.ClientConfig.Service)
}

func TestUpgrade(t *testing.T) {
	installtest.Same(t, "v2 replaces", bundletest.CSV(t, csvFile("bundle-v1")).Name, bundletest.CSV(t, csvFile("bundle-v2")).Spec.Replaces)
	before, after := readCRD(t, "bundle-v1").Spec.Versions[0], readCRD(t, "bundle-v2").Spec.Versions[0]
	if !before.Storage || after.Storage {
		t.Errorf("v1 is what is stored: %v before, %v after", before.Storage, after.Storage)
	}
	after.Storage = before.Storage
	installtest.Same(t, "v1", before, after)
}

func TestDeployments(t *testing.T) {
	type runs struct{ Controllers, Webhooks, Version string }
	for bundle, want := range map[string]map[string]runs{
		"bundle-v1": {"crdconversion-operator": {"[*]", "[]", "v1"}},
		"bundle-v2": {"crdconversion-operator": {"[*]", "[]", "v2"}, "crdconversion-webhook": {"[-caches]", "[*]", "v2"}},
	} {
		got := map[string]runs{}
		for deployment, flags := range bundletest.Deployments(t, csvFile(bundle), newBuilder) {
			value := func(flag string) string { return flags.Lookup(flag).Value.String() }
			got[deployment] = runs{value("controllers"), value("webhooks"), value("cache-version")}
		}
		installtest.Same(t, "what runs of "+bundle, want, got)
	}
}

func TestInstall(t *testing.T) {
	for _, bundle := range []string{"bundle-v1", "bundle-v2"} {
		bundletest.InstallGrants(t, csvFile(bundle))
	}
}
