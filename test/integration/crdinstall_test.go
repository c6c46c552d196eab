package integration

import (
	"slices"
	"testing"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/heldversions"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/crdpolicy/policy"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// catalogOperator returns the client of OLM's ServiceAccount.
func catalogOperator() apiextensions.Interface {
	config := cluster.Config()
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:olm:olm-operator-serviceaccount", Groups: []string{"system:masters"}}
	return installtest.OrPanic(apiextensions.NewForConfig(config))
}

// installsDefinition creates a definition as catalog-operator does. It is deleted with the test.
func installsDefinition(e *env, csv string, manifest *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	e.Helper()
	metav1.SetMetaDataAnnotation(&manifest.ObjectMeta, alongside, csv)
	return temporaryDefinition(e, catalogOperator(), manifest)
}

// An InstallPlan installs a definition with several versions. Only the version in which objects are stored is served
// until the webhook converts: otherwise objects in another version lose their fields.
func TestCatalogInstallsADefinition(t *testing.T) {
	e := newEnv(t)
	e.group("og", allNamespaces)
	pod := playConverter(e, "v1", "v2")
	m := manageCRDs(e)
	defer m.stop()
	manifest := valued(e, "gauges", "v1", "v2")
	crd := installsDefinition(e, e.namespace+"/operator.v1", manifest)
	e.create(pod.csv("operator.v1", "example.com/server:1", crd.Name, "v1", "v2"))
	has(e, "server", "operator.v1")
	m.looksAgain("operator.v1")
	expect(t, servedVersions(e, crd.Name), "v2")
	newValue(e, crd, "v2", "seven")

	pod.begins()
	rolledOut(e, "server", "operator.v1", true)
	e.succeeds("operator.v1")
	e.eventually("all versions are served", func() (bool, any) { now := servedVersions(e, crd.Name); return len(now) == 2, now })
	relabel(e, crd, "v1")
	expectValue(e, crd, "v2", "seven")
}

// The same where no ClusterServiceVersion converts.
func TestCatalogInstallsADefinitionWithoutAConverter(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	m := manageCRDs(e)
	defer m.stop()
	crd := installsDefinition(e, e.namespace+"/operator.v1", valued(e, "gauges", "v1", "v2"))
	c := csv("operator.v1", "server")
	c.Spec.CustomResourceDefinitions.Owned = []operatorsv1alpha1.CRDDescription{{Name: crd.Name, Version: "v1", Kind: "Thing"}, {Name: crd.Name, Version: "v2", Kind: "Thing"}}
	e.create(c)
	e.eventually("all versions are served, and nothing is held", func() (bool, any) {
		now := e.crd(crd.Name)
		return len(servedVersions(e, crd.Name)) == 2 && !heldversions.Annotated(now), now.Annotations
	})
}

// An uninstalled operator is installed again. Its definition stayed, with the annotation of its first InstallPlan, and
// its objects were migrated to one version.
func TestCatalogInstallsADefinitionAgain(t *testing.T) {
	e := newEnv(t)
	e.group("og", allNamespaces)
	pod := playConverter(e, "v1", "v2")
	m := manageCRDs(e)
	defer m.stop()
	left := valued(e, "gauges", "v1", "v2")
	servingOnly("v2")(left)
	crd := installsDefinition(e, e.namespace+"/operator.v1", left)
	newValue(e, crd, "v2", "seven")

	writeAsCatalog(e, e.namespace+"/operator.v1", valued(e, "gauges", "v1", "v2"))
	expect(t, servedVersions(e, crd.Name), "v2")
	e.create(pod.csv("operator.v1", "example.com/server:1", crd.Name, "v1", "v2"))
	has(e, "server", "operator.v1")
	m.looksAgain("operator.v1")
	expect(t, servedVersions(e, crd.Name), "v2")
	pod.begins()
	rolledOut(e, "server", "operator.v1", true)
	e.succeeds("operator.v1")
	e.eventually("all versions are served", func() (bool, any) { now := servedVersions(e, crd.Name); return len(now) == 2, now })
	relabel(e, crd, "v1")
	expectValue(e, crd, "v2", "seven")
}

// A ClusterServiceVersion that the cache shows after its definition, and that does not list it, leads to a decision.
func TestHeldVersionOfALateOperator(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	frozen := e.freezer("clusterserviceversions")
	noCRDPolicy(e)
	m := manageWith(e, frozen.config, keepingVersions, allOfTheCluster)
	defer m.stop()
	crdPolicyIsActive(e, true)
	crd := installsDefinition(e, e.namespace+"/operator.v0", valued(e, "gauges", "v1"))
	frozen.freeze()
	defer frozen.thaw()
	e.create(csv("operator.v1", "server"))
	writeAsCatalog(e, e.namespace+"/operator.v1", valued(e, "gauges", "v1", "v2"))
	e.eventually("the manager has seen the definition", func() (bool, any) { now := servedVersions(e, crd.Name); return len(now) == 1, now })
	frozen.thaw()
	e.eventually("the version is served", func() (bool, any) { now := servedVersions(e, crd.Name); return len(now) == 2, now })
}

// A manager that was started without --with-olm makes the changes that the policy, which is left, holds.
func TestHeldVersionsWithoutWithOLM(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	applyCRDPolicy(e, policy.Policy())
	crd := installsDefinition(e, e.namespace+"/operator.v1", valued(e, "gauges", "v1", "v2"))
	expect(t, servedVersions(e, crd.Name), "v2")
	e.create(csv("operator.v1", "server"))
	cluster.RunManager(t, nil, "--health-bind-address=", "--metrics-bind-address=")
	e.eventually("all versions are served", func() (bool, any) { now := servedVersions(e, crd.Name); return len(now) == 2, now })
}

// The provider none has the administrator inject the CA. The policy keeps only conversions whose CA is the manager's.
func TestCAOfAnInjectorIsStored(t *testing.T) {
	e := operating(newEnv(t), allNamespaces)
	pod := playConverter(e, "v1", "v2")
	crd := newValued(e, "gauges", "v1", "v2")
	inject := []byte(`{"metadata": {"annotations": {"` + injectFrom + `": "` + e.namespace + `/own"}}}`)
	definitions := extensions(e).ApiextensionsV1().CustomResourceDefinitions()
	kube.Patch(e, definitions, crd.Name, types.MergePatchType, inject)
	m := manageCRDs(e)
	defer m.stop()
	e.create(pod.csv("operator.v1", "example.com/server:1", crd.Name, "v1", "v2"))
	pod.begins()
	e.succeeds("operator.v1")
	choose(e, managerv1alpha1.ProviderNone, injectFrom, e.namespace+"/own")
	e.eventually("the certificate is delegated", func() (bool, any) {
		s := e.rollout("operator.v1")
		return s.Provider == managerv1alpha1.ProviderNone, s
	})
	m.settles("operator.v1")

	ca := e.authority("next").pem()
	bundle := slices.Concat(conversion(e, crd.Name).Webhook.ClientConfig.CABundle, ca)
	editCRD(e, crd.Name, func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Spec.Conversion.Webhook.ClientConfig.CABundle = bundle
	})
	installtest.Contains(e, string(conversion(e, crd.Name).Webhook.ClientConfig.CABundle), string(ca))
}

func servedVersions(e *env, crd string) (served []string) {
	e.Helper()
	for _, v := range e.crd(crd).Spec.Versions {
		if v.Served {
			served = append(served, v.Name)
		}
	}
	return served
}

// relabel writes an object that was read in another version.
func relabel(e *env, crd *apiextensionsv1.CustomResourceDefinition, version string) {
	e.Helper()
	e.eventually("an object is written in the version", func() (bool, any) {
		_, err := inVersion(e, crd, version).Patch(e.ctx, "one", types.MergePatchType, []byte(`{"metadata": {"labels": {"a": "b"}}}`), metav1.PatchOptions{})
		return err == nil, err
	})
}

func expectValue(e *env, crd *apiextensionsv1.CustomResourceDefinition, version, value string) {
	e.Helper()
	o, err := inVersion(e, crd, version).Get(e.ctx, "one", metav1.GetOptions{})
	e.must(err)
	got, _, _ := unstructured.NestedString(o.Object, "spec", fieldOf(version))
	installtest.Same(e, "the value in "+version, value, got)
}
