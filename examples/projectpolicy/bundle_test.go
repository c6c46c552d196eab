package main

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/internal/bundletest"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/projectpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const csvFile = "bundle/manifests/projectpolicy.clusterserviceversion.yaml"

func TestBundleRegistersWhatTheServerServes(t *testing.T) {
	webhook := bundletest.AdmissionWebhook(t, csvFile, newWebhook("", newPolicyStore()), "namespaces", admissionregistrationv1.ClusterScope, admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: labelWriters, Scope: new(admissionregistrationv1.ClusterScope),
		},
	})
	want := []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: systemNamespaces,
	}}
	installtest.Same(t, "the objectSelector excludes other namespaces than the server", want, webhook.ObjectSelector.MatchExpressions)
}

// labelWriters are the subresources by which labels of a Namespace can be changed: Kubernetes keeps
// the metadata of these requests. TestLabelWriters tries each one on an API server.
var labelWriters = []string{"namespaces/status", "namespaces/finalize"}

func TestDeployments(t *testing.T) {
	bundletest.Deployments(t, csvFile, func() *hosting.Builder { return newBuilder("any") })
}

func TestInstall(t *testing.T) {
	bundletest.InstallGrants(t, csvFile)
	bundletest.KustomizationHolds(t, "bundle/manifests", "install")
}

func TestSamples(t *testing.T) {
	sample := bundletest.Sample[policy.ProjectPolicy](t, "samples/projectpolicy.yaml", csvFile)
	compiled, err := policy.Compile(&sample)
	installtest.Must(t, err)
	for file, want := range map[string][]string{
		"samples/namespace-allowed.yaml": nil,
		"samples/namespace-denied.yaml":  {"metadata.name", "metadata.labels[team]", "metadata.labels[cost-centre]"},
	} {
		namespace := bundletest.Read[corev1.Namespace](t, file)
		var got []string
		for _, v := range policy.Check(policy.Namespace{Name: namespace.Name, Labels: namespace.Labels}, []*policy.Compiled{compiled}) {
			got = append(got, v.Field)
		}
		installtest.Same(t, file+" breaks", want, got)
	}
}
