package bundle

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// Options are the choices of an administrator.
type Options struct {
	// Namespace is the operator's own. The default is the suggested namespace, or the name of the package.
	Namespace string
	// Watch are the watched namespaces; "" means all. The default is all if supported, and Namespace otherwise.
	Watch  []string
	Config *operatorsv1alpha1.SubscriptionConfig
	Labels map[string]string
	// Namespaced reports which kinds are namespaced. Known kinds and kinds of the bundle need no entry.
	Namespaced map[schema.GroupKind]bool
	AllowKinds []schema.GroupKind
	// Removal allows every version and all watched namespaces: a removal needs the names of the objects only.
	Removal bool
}

// RefusedError is returned for a bundle with objects that are not applied. Manifests has all objects.
type RefusedError struct {
	Manifests []*unstructured.Unstructured
	Refusals  []Refusal
}

func (e *RefusedError) Error() string {
	return strings.Join(lists.Map(e.Refusals, Refusal.String), "\n")
}

// Manifests returns the objects that install a bundle, in the order in which they are applied: a namespace before its
// objects, a definition before its resources, the ClusterServiceVersion last. It is a function of its arguments. The
// error is a RefusedError for a bundle with objects that are not applied.
func Manifests(b *Bundle, o Options) ([]*unstructured.Unstructured, error) {
	all, err := render(b, o)
	if err != nil {
		return nil, err
	}
	refusals := slices.DeleteFunc(b.Refusals(o.AllowKinds), func(r Refusal) bool { return o.Removal && r.Path == pathOfVersion })
	if len(refusals) > 0 {
		return nil, &RefusedError{Manifests: all, Refusals: refusals}
	}
	if err := unique(all); err != nil {
		return nil, err
	}
	return all, nil
}

// render returns the final objects. They are shown, printed, dry-run and applied without a change.
func render(b *Bundle, o Options) ([]*unstructured.Unstructured, error) {
	if err := b.Err(); err != nil {
		return nil, err
	}
	if n := len(b.CSV.Name); n > validation.DNS1123SubdomainMaxLength { // other objects are named after it
		return nil, fmt.Errorf("metadata.name of the ClusterServiceVersion has %d bytes, and the API server allows %d: shorten it", n, validation.DNS1123SubdomainMaxLength)
	}
	o.Namespace = cmp.Or(o.Namespace, b.SuggestedNamespace())
	i := installation{b, o}
	group, err := i.operatorGroup()
	if err != nil {
		return nil, err
	}
	definitions, accounts, rest := i.otherObjects()
	permissions, csv := i.permissions(group.Spec.TargetNamespaces), i.installable(b.CSVObject)
	dropNulls(csv.Object)
	all := slices.Concat(
		[]*unstructured.Unstructured{i.namespaceObject()}, definitions, accounts, permissions, rest,
		[]*unstructured.Unstructured{plain(group), plain(i.subscription()), csv},
	)
	for _, object := range all {
		label(object, o.Labels)
	}
	return all, nil
}

type installation struct {
	*Bundle
	Options
}

// operatorGroup returns an error if the operator does not support the namespaces to watch, unless it is removed.
func (i installation) operatorGroup() (*operatorsv1.OperatorGroup, error) {
	watch := i.Watch
	if watch == nil && !i.Supports(operatorsv1alpha1.InstallModeTypeAllNamespaces) {
		watch = []string{i.Namespace}
	}
	if len(watch) == 1 && watch[0] == metav1.NamespaceAll {
		watch = nil
	}
	group := &operatorsv1.OperatorGroup{
		ObjectMeta: i.createdMeta(),
		Spec:       operatorsv1.OperatorGroupSpec{TargetNamespaces: lists.Sorted(watch)},
	}
	covered, failure := scope.ForNamespace(i.Namespace, []*operatorsv1.OperatorGroup{group}, nil)
	if failure == nil {
		failure = covered.Supported(i.CSV)
	}
	if failure != nil && !i.Removal {
		return nil, errors.New(failure.Message)
	}
	return group, nil
}

// createdMeta returns the metadata of an object that is created with a bundle and not in it.
func (i installation) createdMeta() metav1.ObjectMeta {
	annotations := map[string]string{wellknown.AnnotationCreatedBy: wellknown.CreatedByBundle}
	return metav1.ObjectMeta{Name: cmp.Or(i.Package(), i.Namespace), Namespace: i.Namespace, Annotations: annotations}
}

// subscription names no existing catalog, because the bundle itself is installed.
func (i installation) subscription() *operatorsv1alpha1.Subscription {
	return &operatorsv1alpha1.Subscription{
		ObjectMeta: i.createdMeta(),
		Spec: &operatorsv1alpha1.SubscriptionSpec{
			Package: i.RecordedPackage(), Channel: i.DefaultChannel(), StartingCSV: i.CSV.Name,
			CatalogSource: "bundle", CatalogSourceNamespace: i.Namespace,
			Config: i.Config,
		},
	}
}

func label(object *unstructured.Unstructured, add map[string]string) {
	if len(add) > 0 {
		object.SetLabels(labels.Merge(object.GetLabels(), add))
	}
}

func plain(object runtime.Object) *unstructured.Unstructured {
	versions, _, errOfKind := kinds.ObjectKinds(object)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err := errors.Join(errOfKind, err); err != nil {
		panic(err) // the types are API types
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(versions[0])
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	if spec, ok := content["spec"].(map[string]any); ok && len(spec) == 0 && groupkind.Is(o, groupkind.Namespace) {
		delete(content, "spec")
	}
	return o
}

// unique returns an error for two objects of one name: the second would overwrite the first.
func unique(all []*unstructured.Unstructured) error {
	for object := range repeated(all, (*unstructured.Unstructured).GetNamespace) {
		return fmt.Errorf("the bundle has two objects %s %q: keep one", object.GetKind(), object.GetName())
	}
	return nil
}

// Repeated yields each object with the kind and name of another one, and the first one of them. An installation has one
// namespace, so namespaces of the objects do not matter.
func (b *Bundle) Repeated() iter.Seq2[*Object, *Object] {
	return repeated(b.Objects, func(*Object) string { return "" })
}

func repeated[T interface {
	groupkind.Object
	GetName() string
}](all []T, namespace func(T) string) iter.Seq2[T, T] {
	return func(yield func(T, T) bool) {
		known := map[string]T{}
		for _, o := range all {
			key := groupkind.Of(o).String() + " " + namespace(o) + "/" + o.GetName()
			if first, is := known[key]; !is {
				known[key] = o
			} else if !yield(o, first) {
				return
			}
		}
	}
}
