package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// results are what a bundle came to: whole objects, by their kind and name.
type results map[string]map[string]any

func readExpected(t *testing.T, dir string) results {
	t.Helper()
	all := results{}
	for _, file := range []string{"webhooks.yaml", "services.yaml", "deployments.yaml", "secrets.yaml"} {
		path := filepath.Join(dir, file)
		if _, err := os.Stat(path); os.IsNotExist(err) {
			continue
		}
		for _, object := range readObjects(t, path) {
			all.add(object)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "conversions.yaml"))
	if err == nil {
		conversions := map[string]map[string]any{}
		must(t, yaml.Unmarshal(text, &conversions))
		for crd, conversion := range conversions {
			all["conversion "+crd] = canonical(conversion)
		}
	}
	return all
}

// compared are the kinds whose objects are compared, where the manager made them.
var compared = []schema.GroupVersionResource{
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "secrets"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
}

func (e *env) collect(t *testing.T, b bundle) results {
	t.Helper()
	all := results{}
	for _, kind := range compared {
		list := kube.List(t, e.dynamic.Resource(kind), metav1.ListOptions{LabelSelector: "olm.owner=" + b.csv.Name})
		for i := range list.Items {
			all.add(&list.Items[i])
		}
	}
	for _, defined := range b.crds {
		crd, err := e.crds().Get(t.Context(), defined.GetName(), metav1.GetOptions{})
		must(t, err)
		if conversion, ok, _ := unstructured.NestedMap(crd.Object, "spec", "conversion"); ok && conversion["strategy"] == "Webhook" {
			unstructured.RemoveNestedField(conversion, "webhook", "clientConfig", "caBundle")
			all["conversion "+crd.GetName()] = canonical(conversion)
		}
	}
	return all
}

// add puts an object in as EXPECTED has it: without what the API server sets, owners, and
// values that are secret or hashed.
func (r results) add(object *unstructured.Unstructured) {
	for _, field := range [][]string{
		{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"}, {"metadata", "generation"}, {"metadata", "managedFields"},
		{"metadata", "ownerReferences"}, {"status"}, {"spec", "clusterIP"}, {"spec", "clusterIPs"},
		{"metadata", "annotations", "deployment.kubernetes.io/revision"}, // the Deployment controller's, which no test plays so far
	} {
		unstructured.RemoveNestedField(object.Object, field...)
	}
	name := object.GetName()
	if generateName := object.GetGenerateName(); generateName != "" {
		name = strings.TrimSuffix(generateName, "-")
		object.SetName(name + "-SUFFIX")
	}
	if data, ok := object.Object["data"].(map[string]any); ok {
		for key := range data {
			data[key] = ""
		}
	}
	webhooks, _ := object.Object["webhooks"].([]any)
	for _, w := range webhooks {
		unstructured.RemoveNestedField(w.(map[string]any), "clientConfig", "caBundle")
	}
	withoutHashes(object.Object)
	r[object.GetKind()+" "+name] = canonical(object.Object)
}

// withoutHashes keeps that there is a hash: each manager computes its own.
func withoutHashes(value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, content := range value {
			switch key {
			case "olmcahash", "olm.webhook-description-hash", "olm.deployment-spec-hash":
				value[key] = "HASH"
			default:
				withoutHashes(content)
			}
		}
	case []any:
		for _, v := range value {
			withoutHashes(v)
		}
	}
}

// canonical removes the difference between numbers read from YAML and from the API.
func canonical(value map[string]any) map[string]any {
	text, err := yaml.Marshal(value)
	if err != nil {
		panic(err) // it came out of YAML or JSON
	}
	var plain map[string]any
	if err := yaml.Unmarshal(text, &plain); err != nil {
		panic(err)
	}
	return plain
}
