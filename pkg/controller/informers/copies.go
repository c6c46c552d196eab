package informers

import (
	"context"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
)

// Copy is the part of a ClusterServiceVersion with the label of copies that the manager reads. There can be one for each
// operator and namespace, so it is small: identity, deletion, and marks.
type Copy struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	csvspec.Marks
}

// DeepCopyObject implements runtime.Object.
func (c *Copy) DeepCopyObject() runtime.Object {
	return &Copy{TypeMeta: c.TypeMeta, ObjectMeta: *c.DeepCopy(), Marks: c.Marks}
}

// newCopyInformer receives only metadata: a ClusterServiceVersion has up to a megabyte.
func newCopyInformer(client metadata.Interface) cache.SharedIndexInformer {
	copies := client.Resource(operatorsv1alpha1.SchemeGroupVersion.WithResource("clusterserviceversions"))
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = csvspec.SelectLabelled
			return copies.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = csvspec.SelectLabelled
			return copies.Watch(ctx, options)
		},
	}
	return cache.NewSharedIndexInformerWithOptions(
		cache.ToListWatcherWithWatchListSemantics(source, client), &metav1.PartialObjectMetadata{},
		cache.SharedIndexInformerOptions{Indexers: cache.Indexers{}},
	)
}

func asCopy(o any) (any, error) {
	object, ok := o.(*metav1.PartialObjectMetadata)
	if !ok {
		return o, nil
	}
	marks := csvspec.MarksOf(object)
	marks.CopiedFrom, marks.OperatorNamespace, marks.Copied = shared(marks.CopiedFrom), shared(marks.OperatorNamespace), shared(marks.Copied)
	identity := identityOf(object.ObjectMeta)
	identity.Namespace, identity.Name, identity.DeletionTimestamp = shared(identity.Namespace), shared(identity.Name), object.DeletionTimestamp
	return &Copy{ObjectMeta: identity, Marks: marks}, nil
}

// shared returns one string in memory for all equal ones: copies of an operator have many equal strings.
func shared(text string) string { return unique.Make(text).Value() }
