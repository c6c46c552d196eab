package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	metadatafake "k8s.io/client-go/metadata/fake"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A copy does not own webhooks. An original does, also if another client gave it the label of copies.
func TestOwners(t *testing.T) {
	csv := func(name string, labels map[string]string, finalizers ...string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels, Finalizers: finalizers},
		}
	}
	label := map[string]string{"olm.copiedFrom": "operators"}
	objects := metadatafake.NewTestScheme()
	installtest.Must(t, metav1.AddMetaToScheme(objects))
	c := &Cluster{Metadata: metadatafake.NewSimpleMetadataClient(objects,
		csv("original.v1", nil), csv("copy.v1", label), csv("labelled.v1", label, "operators.coreos.com/csv-cleanup"))}
	owners, unknown, err := c.owners(t.Context())
	installtest.Must(t, err)
	installtest.Same(t, "the kind is unknown", false, unknown)
	installtest.Same(t, "owners", map[types.NamespacedName]bool{{Namespace: "shop", Name: "original.v1"}: true, {Namespace: "shop", Name: "labelled.v1"}: true}, owners)
}
