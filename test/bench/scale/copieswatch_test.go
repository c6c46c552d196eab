package scale

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies/plan"
)

// copyWatch has the marks of each copy that exists.
type copyWatch struct{ cache.Store }

type markedCopy struct {
	metav1.ObjectMeta
	csvspec.Marks
}

// watchCopies follows the metadata of copies. An API server that is busy may end a watch: an informer begins another.
func (e *env) watchCopies() copyWatch {
	e.Helper()
	client := installtest.OrPanic(metadata.NewForConfig(cluster.Config()))
	informer := metadatainformer.NewFilteredMetadataInformer(client, csvResource, metav1.NamespaceAll, 0, cache.Indexers{},
		func(o *metav1.ListOptions) { o.LabelSelector = csvspec.SelectLabelled }).Informer()
	e.must(informer.SetTransform(func(o any) (any, error) {
		metadata, ok := o.(*metav1.PartialObjectMetadata)
		if !ok {
			return o, nil
		}
		identity := metav1.ObjectMeta{Namespace: metadata.Namespace, Name: metadata.Name, ResourceVersion: metadata.ResourceVersion}
		return &markedCopy{identity, csvspec.MarksOf(metadata)}, nil
	}))
	go informer.RunWithContext(e.ctx)
	e.eventually("copies are watched", func() (bool, error) { return informer.HasSynced(), nil })
	return copyWatch{informer.GetStore()}
}

// current counts the complete copies of an original that have its state. An empty namespace is all.
func (w copyWatch) current(original *operatorsv1alpha1.ClusterServiceVersion, namespace string) int {
	state := plan.StateOf(original).String()
	return installtest.Count(w.List(), func(o any) bool {
		c := o.(*markedCopy)
		return c.Name == original.Name && (namespace == "" || c.Namespace == namespace) && c.HasStatus && c.Copied == state
	})
}
