package bundle

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func object(apiVersion, kind, rest string) string {
	return "apiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {name: a, namespace: kube-system}\n" + rest
}

func TestKindsOfBundles(t *testing.T) {
	const everything = "webhooks: [{name: all.example.com, rules: [{apiGroups: ['*'], apiVersions: ['*'], resources: ['*/*'], operations: ['*']}]}]\n"
	configurations := []schema.GroupKind{{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}}
	for name, c := range map[string]struct {
		text    string
		allowed []schema.GroupKind
		want    string // in the error; empty if the object is applied
	}{
		"a kind of OLM's list":              {object("v1", "ConfigMap", ""), nil, ""},
		"another kind":                      {object("apps/v1", "Deployment", ""), nil, "Deployment.apps is no kind that OLM supports in bundles; remove it from the bundle, or allow it: --allow-kind=Deployment.apps"},
		"another kind that is allowed":      {object("apps/v1", "Deployment", ""), []schema.GroupKind{{Group: "apps", Kind: "Deployment"}}, ""},
		"a kind of the list, other group":   {object("example.com/v1", "ConfigMap", ""), nil, "--allow-kind=ConfigMap.example.com"},
		"a webhook configuration":           {object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", ""), nil, "--allow-kind=MutatingWebhookConfiguration.admissionregistration.k8s.io"},
		"a forbidden rule that is allowed":  {object("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", everything), configurations, "webhook rules cannot include all groups: webhook all.example.com does"},
		"an OperatorGroup":                  {object("operators.coreos.com/v1", "OperatorGroup", ""), []schema.GroupKind{{Group: "operators.coreos.com", Kind: "OperatorGroup"}}, "an installation creates its own"},
		"a Subscription":                    {object("operators.coreos.com/v1alpha1", "Subscription", ""), nil, "an installation creates its own"},
		"a WebhookRollout":                  {object("olm-webhook-manager.io/v1alpha1", "WebhookRollout", ""), nil, "an installation creates its own"},
		"a Namespace":                       {object("v1", "Namespace", ""), []schema.GroupKind{{Kind: "Namespace"}}, "an installation creates the operator's namespace itself"},
		"a list":                            {object("v1", "List", "items: []\n"), nil, "is a list of objects"},
		"a list of one kind":                {object("v1", "ConfigMapList", "items: [{metadata: {name: b}}]\n"), nil, "is a list of objects"},
		"a kind without a definition":       {object("shop.example.com/v1", "Good", ""), nil, "--allow-kind=Good.shop.example.com"},
		"an interception in an old version": {object("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy", ""), []schema.GroupKind{{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}}, "is known for version v1 of admissionregistration.k8s.io only, and the object has v1beta1; write it with apiVersion admissionregistration.k8s.io/v1"},
		"a role in an old version":          {object("rbac.authorization.k8s.io/v1beta1", "ClusterRole", ""), nil, "write it with apiVersion rbac.authorization.k8s.io/v1"},
		"an APIService in an old version":   {object("apiregistration.k8s.io/v1beta1", "APIService", ""), []schema.GroupKind{{Group: "apiregistration.k8s.io", Kind: "APIService"}}, "there are apiregistration.k8s.io/v1 alone"},
		"an API that is served for a group": {object("apiregistration.k8s.io/v1", "APIService", ""), nil, "--allow-kind=APIService.apiregistration.k8s.io"},
	} {
		t.Run(name, func(t *testing.T) {
			b := InspectFS(files(map[string]string{"manifests/a.yaml": c.text}), "test")
			_, err := Manifests(b, Options{AllowKinds: c.allowed})
			installtest.Error(t, c.want, err)
			var refused *RefusedError
			if errors.As(err, &refused) && len(refused.Manifests) < 4 {
				t.Errorf("%d objects to show", len(refused.Manifests))
			}
		})
	}
}

// What an earlier version of the command installed is removed in every version.
func TestVersionsOfARemoval(t *testing.T) {
	b := InspectFS(files(map[string]string{"manifests/a.yaml": "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: ValidatingAdmissionPolicy\nmetadata: {name: a}\n"}), "test")
	o := Options{AllowKinds: []schema.GroupKind{{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}}}
	_, err := Manifests(b, o)
	installtest.Error(t, "write it with apiVersion admissionregistration.k8s.io/v1", err)
	o.Removal = true
	_, err = Manifests(b, o)
	installtest.Must(t, err)
}

// A removal also refuses no target namespaces of an OperatorGroup that was changed since.
func TestRefusedScopeOfARemoval(t *testing.T) {
	b := InspectFS(files(nil), "test")
	b.CSV.Spec.InstallModes = []operatorsv1alpha1.InstallMode{{Type: operatorsv1alpha1.InstallModeTypeOwnNamespace, Supported: true}}
	o := Options{Watch: []string{""}}
	_, err := Manifests(b, o)
	installtest.Error(t, "AllNamespaces", err)
	o.Removal = true
	_, err = Manifests(b, o)
	installtest.Must(t, err)
}
