package bundle

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/deploy"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

const (
	configCSV = `apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: NAME.v1}
spec:
  displayName: Shop
  version: 1.0.0
  installModes: [{type: OwnNamespace, supported: true}]
  install:
    strategy: deployment
    spec:
      deployments:
      - name: shop
        spec:
          selector: {matchLabels: {app: shop}}
          template:
            metadata: {labels: {app: shop}}
            spec: {containers: [{name: shop, image: example.com/shop:v1}]}
`
	configSubscription = `apiVersion: operators.coreos.com/v1alpha1
kind: Subscription
metadata: {name: NAME, namespace: NAME}
spec:
  name: PACKAGE
  source: bundle
  sourceNamespace: NAME
  config: {volumes: [{name: root, hostPath: {path: /}}]}
`
)

func configBundle(t *testing.T, name string) string {
	t.Helper()
	return folder(t, name, map[string]string{
		"manifests/csv.yaml":        strings.ReplaceAll(configCSV, "NAME", name),
		"metadata/annotations.yaml": "annotations: {operators.operatorframework.io.bundle.package.v1: " + name + "}\n",
	})
}

// The notice shows the config with which the pods will run, and an installation does not own what it was not given.
func TestConfigOfAnotherClient(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for name, test := range map[string]struct {
		packageName, manager string
		unowned              bool
	}{
		"config-applied":   {"config-applied", "gitops", false},
		"config-updated":   {"config-updated", deploy.FieldManager, false},
		"config-unowned":   {"config-unowned", "gitops", true},
		"config-different": {"another", "gitops", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e.namespace(t, name)
			s := parsed(t, strings.NewReplacer("NAME", name, "PACKAGE", test.packageName).Replace(configSubscription))
			resource := e.client(t, s)
			var err error
			if test.manager == deploy.FieldManager {
				_, err = resource.Create(t.Context(), s, metav1.CreateOptions{FieldManager: test.manager})
			} else {
				_, err = resource.Apply(t.Context(), name, s, metav1.ApplyOptions{FieldManager: test.manager})
			}
			must(t, err)
			if test.unowned {
				kube.Patch(t, resource, name, types.MergePatchType, []byte(`{"metadata": {"managedFields": [{}]}}`))
			}
			out, err := webhooks(t, "bundle", "install", configBundle(t, name), "-n", name, "--yes", "--patience=15s",
				"--adopt", "Subscription.operators.coreos.com/"+name+"/"+name).CombinedOutput()
			says(t, err, "exit status 1") // No manager runs.
			installtest.Contains(t, string(out), "hostPath /", "applied ClusterServiceVersion")
			live := e.now(t, s)
			volumes, _, _ := unstructured.NestedSlice(live.Object, "spec", "config", "volumes")
			installtest.Same(t, "volumes", 1, len(volumes))
			for _, m := range live.GetManagedFields() {
				if m.Manager == deploy.FieldManager && m.Operation == metav1.ManagedFieldsOperationApply && strings.Contains(string(m.FieldsV1.GetRawBytes()), "f:config") {
					t.Errorf("the command owns %s", m.FieldsV1.GetRawBytes())
				}
			}
		})
	}
}

// What the live OperatorGroup covers, and what the live config contains, does not prevent a removal.
func TestRemovalOfARefusedInstallation(t *testing.T) {
	t.Parallel()
	e, c := newEnvWithInstaller(t)
	const name = "removed-refused"
	e.namespace(t, name)
	dir := configBundle(t, name)
	_, err := webhooks(t, "bundle", "install", dir, "-n", name, "--yes", "--patience=15s").CombinedOutput()
	says(t, err, "exit status 1") // No manager runs.
	for kind, patch := range map[string]string{
		"OperatorGroup": `{"spec": {"targetNamespaces": null}}`,
		"Subscription":  `{"spec": {"config": {"annotations": {"olm-webhook-manager.io/certificate-provider": "cert-manger"}}}}`,
	} {
		o := parsed(t, "apiVersion: operators.coreos.com/"+map[string]string{"OperatorGroup": "v1", "Subscription": "v1alpha1"}[kind]+"\nkind: "+kind+"\nmetadata: {name: "+name+", namespace: "+name+"}\n")
		kube.Patch(t, e.client(t, o), name, types.MergePatchType, []byte(patch))
	}
	out, err := webhooks(t, "bundle", "uninstall", dir, "--yes").CombinedOutput()
	if err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
	left, err := c.OLM.Subscriptions(name).List(t.Context(), metav1.ListOptions{})
	must(t, err)
	installtest.None(t, "Subscriptions", left.Items)
}
