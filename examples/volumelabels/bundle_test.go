package main

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/bundletest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/volumelabels/labelling"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var csvFiles = []string{
	"bundle-one-process/manifests/volumelabels.clusterserviceversion.yaml",
	"bundle-two-processes/manifests/volumelabels.clusterserviceversion.yaml",
}

func TestBundlesRegisterWhatTheServerServes(t *testing.T) {
	for _, file := range csvFiles {
		bundletest.AdmissionWebhook(t, file, newWebhook(&fileProvider{}), "persistentvolumes", admissionregistrationv1.ClusterScope)
	}
}

func TestDeployments(t *testing.T) {
	type runs struct{ Controllers, Webhooks string }
	got := map[string]runs{}
	for _, file := range csvFiles {
		for deployment, flags := range bundletest.Deployments(t, file, newBuilder) {
			got[deployment] = runs{flags.Lookup("controllers").Value.String(), flags.Lookup("webhooks").Value.String()}
		}
	}
	want := map[string]runs{
		"volumelabels":            {"[*]", "[*]"},
		"volumelabels-webhook":    {"[-" + name + "]", "[*]"},
		"volumelabels-controller": {"[*]", "[]"},
	}
	installtest.Same(t, "what runs", want, got)
}

func TestInstall(t *testing.T) {
	for _, file := range csvFiles {
		bundletest.InstallGrants(t, file)
	}
}

func TestCatalogueOfTheInstallation(t *testing.T) {
	file := bundletest.Read[corev1.ConfigMap](t, "install/catalogue.yaml")
	catalogue, err := labelling.ParseCatalogue([]byte(file.Data["volumes.yaml"]))
	installtest.Must(t, err)
	_, known := catalogue[labelling.Volume{Driver: "disk.csi.example.com", Handle: "vol-0001"}]
	installtest.Same(t, "it knows the volume of samples/persistentvolume.yaml", true, known)
}
