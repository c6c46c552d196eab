package integration

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// derived are the kinds of objects that the manager makes; the last two are cluster-scoped.
var derived = []schema.GroupVersionResource{
	{Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "secrets"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "operators.coreos.com", Version: "v2", Resource: "operatorconditions"},
	{Group: "olm-webhook-manager.io", Version: "v1alpha1", Resource: "webhookrollouts"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
}

var clusterScoped = derived[len(derived)-2:]

// owned are all objects with owner labels of CSVs of the test's Namespace, independent of their other labels.
func (e *env) owned(kinds []schema.GroupVersionResource) []unstructured.Unstructured {
	e.Helper()
	var all []unstructured.Unstructured
	for _, kind := range kinds {
		all = append(all, kube.List(e, e.any.Resource(kind), metav1.ListOptions{LabelSelector: "olm.owner.namespace=" + e.namespace}).Items...)
	}
	return all
}

func client(e *env, o unstructured.Unstructured) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	return e.any.Resource(resource).Namespace(o.GetNamespace())
}

// inventory is what the manager made in the test's Namespace and for it, as text by
// the name of a file, without what differs from one install to the next.
func inventory(e *env) map[string]string {
	e.Helper()
	found := map[string]string{}
	for _, o := range e.owned(derived) {
		file := strings.ToLower(o.GetKind()) + "_" + hashed.ReplaceAllString(o.GetName(), "$1") + ".yaml"
		if _, twice := found[file]; twice {
			e.Errorf("two objects for %s", file)
		}
		found[file] = golden(e, o)
	}
	return found
}

func golden(e *env, o unstructured.Unstructured) string {
	e.Helper()
	for _, field := range [][]string{
		{"metadata", "uid"}, {"metadata", "resourceVersion"}, {"metadata", "creationTimestamp"}, {"metadata", "generation"}, {"metadata", "managedFields"},
		{"spec", "clusterIP"}, {"spec", "clusterIPs"}, {"spec", "ipFamilies"}, {"spec", "ipFamilyPolicy"},
	} {
		unstructured.RemoveNestedField(o.Object, field...)
	}
	if o.GetKind() == "Deployment" || o.GetKind() == "Service" {
		unstructured.RemoveNestedField(o.Object, "status")
	}
	text := installtest.OrPanic(yaml.Marshal(o.Object))
	readable := strings.ReplaceAll(string(text), e.namespace, "NAMESPACE")
	for _, v := range variable {
		readable = v.pattern.ReplaceAllString(readable, v.replacement)
	}
	return readable
}

// variable is what differs from one installation to the next.
var variable = []struct {
	pattern     *regexp.Regexp
	replacement string
}{
	{regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "SHA256"},
	{regexp.MustCompile(`\b[A-Za-z0-9+/]{100,}=*`), "BASE64"},
	{regexp.MustCompile(`((?:name|configuration): [vm]\.example\.com)-[0-9a-z]{10}\b`), "$1-HASH"},
	{regexp.MustCompile(`(olm\.deployment-spec-hash): \S+`), "$1: HASH"},
}

var hashed = regexp.MustCompile(`^([vm]\.example\.com)-[0-9a-z]{10}$`)

// isComplete compares what the manager created with the golden files of a directory.
func isComplete(e *env, dir string) {
	e.Helper()
	found := inventory(e)
	want := map[string]string{}
	files := installtest.OrPanic(filepath.Glob(filepath.Join(dir, "*.yaml")))
	for _, file := range files {
		text := installtest.OrPanic(os.ReadFile(file))
		want[filepath.Base(file)] = string(text)
	}
	same(e, "the objects of "+dir, found, want)
}

func accept(e *env, dir string) {
	e.Helper()
	e.must(os.RemoveAll(dir))
	e.must(os.MkdirAll(dir, 0o755))
	for name, text := range inventory(e) {
		e.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

func namesOf(objects []unstructured.Unstructured) string {
	slices.SortFunc(objects, func(a, b unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	})
	line := func(o unstructured.Unstructured) string {
		return fmt.Sprintf("%s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
	}
	return strings.Join(lists.Map(objects, line), "\n")
}

func kindOf(o unstructured.Unstructured) string { return o.GetKind() }
