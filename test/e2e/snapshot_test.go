package e2e

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

type snapshot map[string]map[string]any

// snapshot lists everything that the API server lists, except for what moves while nothing happens.
func (e *env) snapshot() snapshot {
	e.Helper()
	lists, err := kubeClient.Discovery().ServerPreferredResources()
	e.must(err)
	all := snapshot{}
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists) {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		e.must(err)
		for _, r := range list.APIResources {
			resource := gv.WithResource(r.Name)
			if slices.Contains(restless, resource.GroupResource()) {
				continue
			}
			objects, err := dynamicClient.Resource(resource).List(e.ctx, metav1.ListOptions{})
			if apierrors.IsNotFound(err) {
				continue // its definition has just gone
			}
			e.must(err)
			for _, o := range objects.Items {
				all[strings.Join([]string{resource.GroupResource().String(), o.GetNamespace(), o.GetName()}, " ")] = atRest(o)
			}
		}
	}
	return all
}

// restless resources change, appear and disappear by themselves.
var restless = []schema.GroupResource{
	{Resource: "events"},
	{Group: "events.k8s.io", Resource: "events"},
	{Group: "coordination.k8s.io", Resource: "leases"},
	{Resource: "componentstatuses"},
}

// atRest is an object without what reports only when and by whom it was last written, and
// without a node's own list of images.
func atRest(o unstructured.Unstructured) map[string]any {
	unstructured.RemoveNestedField(o.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(o.Object, "metadata", "resourceVersion")
	unstructured.RemoveNestedField(o.Object, "status", "images")
	if status, ok := o.Object["status"]; ok {
		withoutTimes(status)
	}
	return o.Object
}

func withoutTimes(value any) {
	switch value := value.(type) {
	case map[string]any:
		maps.DeleteFunc(value, func(key string, _ any) bool { return strings.HasSuffix(key, "Time") })
		for _, v := range value {
			withoutTimes(v)
		}
	case []any:
		for _, v := range value {
			withoutTimes(v)
		}
	}
}

func (e *env) restingCluster() snapshot {
	e.Helper()
	last := e.snapshot()
	e.eventually("nothing in the cluster moves", func() (bool, any) {
		before := last
		last = e.snapshot()
		changes := before.changes(last)
		return len(changes) == 0, changes
	})
	return last
}

func (e *env) clusterIs(before snapshot) {
	e.Helper()
	becomes(e, "the cluster is as it was before", func() []string { return before.changes(e.snapshot()) }, nil)
}

func (before snapshot) changes(after snapshot) []string {
	both := maps.Clone(before)
	maps.Copy(both, after)
	var changes []string
	for _, key := range slices.Sorted(maps.Keys(both)) {
		was, is := before[key], after[key]
		switch diff := cmp.Diff(was, is); {
		case diff == "":
		case was == nil:
			changes = append(changes, key+" is new")
		case is == nil:
			changes = append(changes, key+" no longer exists")
		default:
			changes = append(changes, key+" changed (-was +is):\n"+diff)
		}
	}
	return changes
}

// derived are the names of the objects that the manager created for the Namespace itself.
func (e *env) derived() []string {
	e.Helper()
	var names []string
	for key, content := range e.snapshot() {
		o := unstructured.Unstructured{Object: content}
		owned := slices.ContainsFunc(o.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
			return owner.Kind == operatorsv1alpha1.ClusterServiceVersionKind
		})
		if o.GetNamespace() == e.namespace && owned || o.GetNamespace() == "" && o.GetLabels()[wellknown.LabelOwnerNamespace] == e.namespace {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	return names
}
