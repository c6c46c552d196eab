package bundle

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// withPermissions is a bundle for some install modes, with permissions of both sorts.
func withPermissions(t *testing.T, modes string) *Bundle {
	t.Helper()
	csv := strings.NewReplacer(
		"- {type: AllNamespaces, supported: true}", modes,
		"      deployments: []\n", `      deployments: []
      permissions:
      - serviceAccountName: shop
        rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
      clusterPermissions:
      - serviceAccountName: shop
        rules: [{apiGroups: [""], resources: [nodes], verbs: [list]}]
`).Replace(csvText)
	b := InspectFS(files(map[string]string{
		"manifests/csv.yaml":   csv + "  support: ours\n  keywords:\n",
		"manifests/role.yaml":  "apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: more, creationTimestamp: null}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}\nsubjects: [{kind: ServiceAccount, name: shop}, {kind: Group, name: all}]\n",
		"manifests/a-crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: goods.shop.example.com}\nspec: {group: shop.example.com}\nstatus: {storedVersions: [v1]}\n",
	}), "test")
	must(t, b.Err())
	return b
}

const (
	all = "- {type: AllNamespaces, supported: true}"
	own = "- {type: OwnNamespace, supported: true}"
	few = "- {type: OwnNamespace, supported: true}\n  - {type: SingleNamespace, supported: true}\n  - {type: MultiNamespace, supported: true}"
)

func TestManifestsAreInAnOrderThatApplies(t *testing.T) {
	for name, c := range map[string]struct {
		modes   string
		options Options
		want    []string
	}{
		"all namespaces": {all, Options{}, []string{
			"Namespace /shop", "CustomResourceDefinition /goods.shop.example.com", "ServiceAccount shop/shop",
			"ClusterRole /shop.v1.0.0-", "ClusterRoleBinding /shop.v1.0.0-", "RoleBinding shop/more",
			"OperatorGroup shop/shop", "Subscription shop/shop", "ClusterServiceVersion shop/shop.v1.0.0",
		}},
		"its own namespace": {own, Options{Namespace: "mine"}, []string{
			"Namespace /mine", "CustomResourceDefinition /goods.shop.example.com", "ServiceAccount mine/shop",
			"ClusterRole /shop.v1.0.0-", "ClusterRoleBinding /shop.v1.0.0-", "Role mine/shop.v1.0.0-", "RoleBinding mine/shop.v1.0.0-", "RoleBinding mine/more",
			"OperatorGroup mine/shop", "Subscription mine/shop", "ClusterServiceVersion mine/shop.v1.0.0",
		}},
		"two namespaces": {few, Options{Watch: []string{"b", "a", "b"}}, []string{
			"Namespace /shop", "CustomResourceDefinition /goods.shop.example.com", "ServiceAccount shop/shop",
			"ClusterRole /shop.v1.0.0-", "ClusterRoleBinding /shop.v1.0.0-",
			"Role a/shop.v1.0.0-", "RoleBinding a/shop.v1.0.0-", "Role b/shop.v1.0.0-", "RoleBinding b/shop.v1.0.0-", "Role shop/shop.v1.0.0-", "RoleBinding shop/shop.v1.0.0-",
			"RoleBinding shop/more", "OperatorGroup shop/shop", "Subscription shop/shop", "ClusterServiceVersion shop/shop.v1.0.0",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			manifests := installtest.OrPanic(Manifests(withPermissions(t, c.modes), c.options))
			var got []string
			for _, m := range manifests {
				identity := m.GetKind() + " " + m.GetNamespace() + "/" + m.GetName()
				if before, _, hashed := strings.Cut(identity, "/shop.v1.0.0-"); hashed {
					identity = before + "/shop.v1.0.0-"
				}
				got = append(got, identity)
			}
			installtest.Same(t, "manifests", c.want, got)
		})
	}
}

func TestManifestsSayWhatTheBundleSays(t *testing.T) {
	b := withPermissions(t, all)
	manifests, err := Manifests(b, Options{
		Config: &operatorsv1alpha1.SubscriptionConfig{Env: []corev1.EnvVar{{Name: "A", Value: "1"}}},
		Labels: map[string]string{"team": "shop"},
	})
	must(t, err)
	find := func(kind string) map[string]any {
		i := slices.IndexFunc(manifests, func(m *unstructured.Unstructured) bool { return m.GetKind() == kind })
		return manifests[i].Object
	}
	for _, m := range manifests {
		installtest.Same(t, "team of the "+m.GetKind(), "shop", m.GetLabels()["team"])
		installtest.Same(t, "status of the "+m.GetKind(), nil, m.Object["status"])
	}
	for _, kind := range []string{"ClusterRole", "ClusterRoleBinding"} {
		metadata := find(kind)["metadata"].(map[string]any)
		want := map[string]any{"olm.owner": "shop.v1.0.0", "olm.owner.kind": "ClusterServiceVersion", "olm.owner.namespace": "shop", "team": "shop"}
		installtest.Same(t, "labels of "+kind, any(want), metadata["labels"])
	}
	for kind, want := range map[string]string{
		"ClusterRole":   "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [{apiGroups: [''], resources: [nodes], verbs: [list]}, {apiGroups: [''], resources: [secrets], verbs: [get]}, {apiGroups: [''], resources: [namespaces], verbs: [get, list, watch]}]}",
		"RoleBinding":   "{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}, subjects: [{kind: ServiceAccount, name: shop, namespace: shop}, {kind: Group, name: all}]}",
		"OperatorGroup": "{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, spec: {}}",
		"Subscription":  "{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, spec: {name: shop, channel: stable, startingCSV: shop.v1.0.0, source: bundle, sourceNamespace: shop, config: {env: [{name: A, value: '1'}]}}}",
	} {
		var expected map[string]any
		must(t, yaml.Unmarshal([]byte(want), &expected))
		got := find(kind)
		delete(got, "metadata")
		installtest.Same(t, kind, expected, got)
	}
	spec := find("ClusterServiceVersion")["spec"].(map[string]any)
	for _, field := range []string{"support", "keywords"} {
		if _, kept := spec[field]; kept || spec["displayName"] != "Shop" {
			t.Errorf("an unknown or an empty field is kept, or a known one is not: %v", spec)
		}
	}
	installtest.Same(t, "the namespace of the bundle's own object", "", b.CSVObject.GetNamespace())
}

func TestTheAuthorsNamespace(t *testing.T) {
	for name, c := range map[string]struct{ annotation, want string }{
		"a name":                             {`operatorframework.io/suggested-namespace: there`, "{name: there}"},
		"a template":                         {`operatorframework.io/suggested-namespace-template: '{"metadata":{"name":"there","labels":{"a":"b"}}}'`, "{name: there, labels: {a: b}}"},
		"a template with instructions":       {`operatorframework.io/suggested-namespace-template: '{"metadata":{"name":"there","labels":{"a":"b","olm-webhook-manager.io/x":"y"},"annotations":{"olm-webhook-manager.io/installation":"other/other"}}}'`, "{name: there, labels: {a: b}}"},
		"both, of which the template counts": {"operatorframework.io/suggested-namespace: here\n    " + `operatorframework.io/suggested-namespace-template: '{"metadata":{"name":"there"}}'`, "{name: there}"},
		"a name, and a template without one": {"operatorframework.io/suggested-namespace: here\n    " + `operatorframework.io/suggested-namespace-template: '{"metadata":{"labels":{"a":"b"}}}'`, "{name: here, labels: {a: b}}"},
		"a template of something else":       {`operatorframework.io/suggested-namespace-template: '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"there"}}'`, "{name: shop}"},
		"a template that is not YAML":        {`operatorframework.io/suggested-namespace-template: '{'`, "{name: shop}"},
	} {
		t.Run(name, func(t *testing.T) {
			b := InspectFS(files(map[string]string{
				"manifests/csv.yaml": strings.Replace(csvText, "  name: shop.v1.0.0\n", "  name: shop.v1.0.0\n  annotations:\n    "+c.annotation+"\n", 1),
			}), "test")
			manifests := installtest.OrPanic(Manifests(b, Options{}))
			var want map[string]any
			must(t, yaml.Unmarshal([]byte(c.want), &want))
			installtest.Same(t, "manifests", any(want), manifests[0].Object["metadata"])
		})
	}
}

// What the template of a Namespace loses is reported as it is for objects.
func TestInstructionsInTheNamespaceTemplate(t *testing.T) {
	const template = `{"metadata":{"nam":"x","labels":{"olm-webhook-manager.io/x":"y"},"annotations":{"olm-webhook-manager.io/installation":"a/b"}}}`
	b := InspectFS(files(map[string]string{
		"manifests/csv.yaml": strings.Replace(csvText, "  name: shop.v1.0.0\n", "  name: shop.v1.0.0\n  annotations:\n    "+NamespaceTemplateAnnotation+": '"+template+"'\n", 1),
	}), "test")
	_, leftOut, err := b.NamespaceTemplate()
	must(t, err)
	want := []string{
		"metadata.annotations[olm-webhook-manager.io/installation] " + notTaken,
		"metadata.labels[olm-webhook-manager.io/x] " + notTaken,
		"metadata.nam is no field of a Namespace, and is left out",
	}
	installtest.Same(t, "left out", want, leftOut)
}

func TestManifestsAreRefused(t *testing.T) {
	twice := files(map[string]string{
		"manifests/a.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
		"manifests/b.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n",
	})
	for name, c := range map[string]struct {
		bundle  *Bundle
		options Options
		want    string
	}{
		"a mode that is not supported": {withPermissions(t, own), Options{Watch: []string{"a", "b"}}, "MultiNamespace InstallModeType not supported"},
		"all, which is not supported":  {withPermissions(t, own), Options{Watch: []string{""}}, "AllNamespaces InstallModeType not supported"},
		"an object twice":              {InspectFS(twice, "test"), Options{}, `two objects Secret "a": keep one`},
		"a bundle without CSV":         {InspectFS(files(map[string]string{"manifests/csv.yaml": ""}), "test"), Options{}, "test: manifests: has no ClusterServiceVersion"},
	} {
		t.Run(name, func(t *testing.T) {
			manifests, err := Manifests(c.bundle, c.options)
			if err == nil || !strings.Contains(err.Error(), c.want) || manifests != nil {
				t.Errorf("got %d manifests and %v, want %q", len(manifests), err, c.want)
			}
		})
	}
}

func TestExamplesRenderTheSameTwice(t *testing.T) {
	bundles, err := filepath.Glob("../../../examples/*/bundle*/metadata")
	if err != nil || len(bundles) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, metadata := range bundles {
		dir := filepath.Dir(metadata)
		var texts []string
		for range 2 {
			b := installtest.OrPanic(Inspect(dir))
			manifests := installtest.OrPanic(Manifests(b, Options{}))
			text := installtest.OrPanic(yaml.Marshal(manifests))
			texts = append(texts, string(text))
		}
		installtest.Same(t, "manifests of "+dir, texts[0], texts[1])
	}
}

// A kind is known by its group: those of other groups are what Kubernetes and OLM do not know, and
// the API server or the bundle itself states whether they have a namespace.
func TestKindsOfOtherGroups(t *testing.T) {
	b := InspectFS(files(map[string]string{
		"manifests/csv.yaml": strings.Replace(csvText, "      deployments: []\n", `      deployments: []
      permissions:
      - serviceAccountName: shop
        rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
`, 1),
		"manifests/account.yaml": "apiVersion: other.example.com/v1\nkind: ServiceAccount\nmetadata: {name: shop}\n",
		"manifests/role.yaml":    "apiVersion: other.example.com/v1\nkind: ClusterRole\nmetadata: {name: a}\n",
		"manifests/thing.yaml":   "apiVersion: other.example.com/v1\nkind: Thing\nmetadata: {name: b}\n",
		"manifests/policy.yaml":  "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: c, namespace: d}\n",
		"manifests/crd.yaml":     "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: goods.shop.example.com}\nspec: {group: shop.example.com, scope: Cluster, names: {kind: Good}}\n",
		"manifests/good.yaml":    "apiVersion: shop.example.com/v1\nkind: Good\nmetadata: {name: e}\n",
	}), "test")
	all := installtest.OrPanic(Manifests(b, Options{AllowKinds: b.KindsToAllow(), Namespaced: map[schema.GroupKind]bool{{Group: "other.example.com", Kind: "Thing"}: false}}))
	got := lists.FilterMap(all, func(o *unstructured.Unstructured) (string, bool) {
		text := o.GroupVersionKind().GroupKind().String() + " " + o.GetNamespace() + "/" + o.GetName()
		return text, o.GroupVersionKind().Group != "operators.coreos.com" && !strings.HasPrefix(o.GetName(), "shop.v1")
	})
	slices.Sort(got)
	want := []string{
		"ClusterRole.other.example.com shop/a", "CustomResourceDefinition.apiextensions.k8s.io /goods.shop.example.com", "Good.shop.example.com /e",
		"MutatingAdmissionPolicy.admissionregistration.k8s.io /c", "Namespace /shop", "ServiceAccount shop/shop", "ServiceAccount.other.example.com shop/shop", "Thing.other.example.com /b",
	}
	installtest.Same(t, "manifests", want, got)
}

// A definition's conversion webhook is not rendered if the ClusterServiceVersion declares one, which the notice shows.
func TestDeclaredConversion(t *testing.T) {
	const byURL, byService = "url: 'https://evil.example.com'", "caBundle: Q0E=, service: {namespace: evil, name: evil}"
	declaring := strings.Replace(csvText, "  install:\n", "  webhookdefinitions: [{type: ConversionWebhook, generateName: a.example.com, deploymentName: shop, webhookPath: /convert, conversionCRDs: [goods.shop.example.com], admissionReviewVersions: [v1]}]\n  install:\n", 1)
	for name, c := range map[string]struct{ csv, config, versions, want string }{
		"a URL":                          {declaring, byURL, "{name: v1}, {name: v2}", "mall/shop-service/convert"},
		"another Service":                {declaring, byService, "{name: v1}, {name: v2}", "mall/shop-service/convert"},
		"one version":                    {declaring, byURL, "{name: v1}", "None"},
		"a webhook that is not declared": {csvText, byURL, "{name: v1}, {name: v2}", "https://evil.example.com"},
		"a Service that is not declared": {csvText, byService, "{name: v1}, {name: v2}", "evil/evil"},
	} {
		t.Run(name, func(t *testing.T) {
			b := InspectFS(files(map[string]string{
				"manifests/csv.yaml": c.csv,
				"manifests/crd.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: goods.shop.example.com}\nspec: {group: shop.example.com, versions: [" +
					c.versions + "], conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1], clientConfig: {" + c.config + "}}}}\n",
			}), "test")
			manifests := installtest.OrPanic(Manifests(b, Options{Namespace: "mall"}))
			crd := Typed(manifests[1]).(*apiextensionsv1.CustomResourceDefinition)
			installtest.Same(t, "conversion", c.want, converter(crd.Spec.Conversion))
		})
	}
}

func converter(c *apiextensionsv1.CustomResourceConversion) string {
	switch {
	case c.Webhook == nil:
		return string(c.Strategy)
	case c.Webhook.ClientConfig.URL != nil:
		return *c.Webhook.ClientConfig.URL
	default:
		s := c.Webhook.ClientConfig.Service
		return s.Namespace + "/" + s.Name + ptr.Deref(s.Path, "")
	}
}
