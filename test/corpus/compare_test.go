package corpus

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// results are what a bundle came to, by what it is: only the parts that are compared.
type results map[string]any

// compare reports every difference. One is expected: the manager mounts the certificate
// in both places, also where an author's mount makes OLM v0 leave one out.
func (r results) compare(t *testing.T, got results) {
	t.Helper()
	for key := range got {
		mounts, ok := got[key].(map[string]string)
		expected, too := r[key].(map[string]string)
		if ok && too {
			maps.DeleteFunc(mounts, func(place, _ string) bool { return expected[place] == "" })
		}
	}
	if diff := cmp.Diff(r, got); diff != "" {
		t.Errorf("differs from OLM v0 (-OLM +manager):\n%s", diff)
	}
}

// readExpected reads what OLM v0 left.
func readExpected(t *testing.T, dir string) results {
	t.Helper()
	all := results{}
	for _, file := range []string{"webhooks.yaml", "services.yaml", "deployments.yaml"} {
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
		conversions := map[string]any{}
		must(t, yaml.Unmarshal(text, &conversions))
		for crd, conversion := range conversions {
			all.addConversion(crd, conversion.(map[string]any))
		}
	}
	return all
}

// collect reads what the manager made.
func (e *env) collect(t *testing.T, namespace string, b bundle) results {
	t.Helper()
	ctx, owned := t.Context(), metav1.ListOptions{LabelSelector: "olm.owner=" + b.csv.Name}
	all := results{}
	add := func(list runtime.Object, err error) {
		must(t, err)
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(list)
		must(t, err)
		kinds, _, err := scheme.Scheme.ObjectKinds(list)
		must(t, err)
		items, _ := content["items"].([]any) // null when there are none
		for _, item := range items {
			object := &unstructured.Unstructured{Object: item.(map[string]any)}
			object.SetKind(strings.TrimSuffix(kinds[0].Kind, "List"))
			all.add(object)
		}
	}
	add(e.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(ctx, owned))
	add(e.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations().List(ctx, owned))
	add(e.Kube.CoreV1().Services(namespace).List(ctx, owned))
	add(e.Kube.AppsV1().Deployments(namespace).List(ctx, owned))
	for _, defined := range b.crds {
		crd, err := e.crds().Get(ctx, defined.GetName(), metav1.GetOptions{})
		must(t, err)
		if conversion, ok, _ := unstructured.NestedMap(crd.Object, "spec", "conversion"); ok && conversion["strategy"] == "Webhook" {
			all.addConversion(crd.GetName(), conversion)
		}
	}
	return all
}

func (r results) addConversion(crd string, conversion map[string]any) {
	unstructured.RemoveNestedField(conversion, "webhook", "clientConfig", "caBundle")
	r["conversion of "+crd] = canonical(conversion)
}

// add keeps of an object what bundles and scripts rely on.
func (r results) add(object *unstructured.Unstructured) {
	switch kind := object.GetKind(); kind {
	case "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration":
		webhook := object.Object["webhooks"].([]any)[0].(map[string]any)
		unstructured.RemoveNestedField(webhook, "clientConfig", "caBundle")
		// What keeps a webhook from stopping itself is the manager's own addition.
		unstructured.RemoveNestedField(webhook, "matchConditions")
		labels := object.GetLabels()
		delete(labels, "olm.webhook-description-hash")
		r[kind+" "+object.GetGenerateName()] = map[string]any{"labels": labels, "webhook": canonical(webhook)}
	case "Service":
		ports, _, _ := unstructured.NestedSlice(object.Object, "spec", "ports")
		selector, _, _ := unstructured.NestedStringMap(object.Object, "spec", "selector")
		r["Service "+object.GetName()] = map[string]any{"ports": canonical(ports), "selector": selector}
	case "Deployment":
		if mounts := certificateMounts(object); len(mounts) > 0 {
			r["certificates of "+object.GetName()] = mounts
		}
	}
}

// certificateMounts are, by container, what is mounted where servers look for their
// certificates, and from which Secret. The CA beside the certificate is the manager's
// own addition.
func certificateMounts(deployment *unstructured.Unstructured) map[string]string {
	secrets := map[string]string{}
	volumes, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "volumes")
	for _, v := range volumes {
		volume := v.(map[string]any)
		secret, _, _ := unstructured.NestedString(volume, "secret", "secretName")
		secrets[volume["name"].(string)] = secret
	}
	mounted := map[string]string{}
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		container := c.(map[string]any)
		mounts, _, _ := unstructured.NestedSlice(container, "volumeMounts")
		for _, m := range mounts {
			mount := m.(map[string]any)
			switch path := mount["mountPath"].(string); path {
			case "/tmp/k8s-webhook-server/serving-certs", "/apiserver.local.config/certificates":
				mounted[container["name"].(string)+" "+path] = secrets[mount["name"].(string)]
			}
		}
	}
	return mounted
}

// canonical takes away the difference between numbers read from YAML and from the API.
func canonical(value any) any {
	text, err := yaml.Marshal(value)
	if err != nil {
		panic(err) // it came out of YAML or JSON
	}
	var plain any
	if err := yaml.Unmarshal(text, &plain); err != nil {
		panic(err)
	}
	return plain
}
