package deploy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	api "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
)

func TestRemovalOf(t *testing.T) {
	var manifests, byHand []*unstructured.Unstructured
	for _, kind := range []api.GroupKind{groupkind.Namespace, groupkind.CustomResourceDefinition, {Group: "rbac.authorization.k8s.io", Kind: "Role"},
		groupkind.OperatorGroup, groupkind.Subscription, groupkind.ClusterServiceVersion} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind.WithVersion("v1"))
		o.SetName("shop")
		o.SetNamespace("mall")
		byHand = append(byHand, o.DeepCopy())
		if kind == groupkind.OperatorGroup || kind == groupkind.Subscription {
			o.SetAnnotations(map[string]string{vocabulary.AnnotationMadeBy: vocabulary.MadeByBundle})
		}
		manifests = append(manifests, o)
	}
	for name, test := range map[string]struct {
		manifests   []*unstructured.Unstructured // those with a group of a bundle, if not set
		objects     map[string]int
		others      []string
		definitions bool
		goes, told  []string
	}{
		"definitions stay": {
			objects: map[string]int{"shop": 2},
			goes:    []string{"ClusterServiceVersion", "Role", "OperatorGroup", "Subscription"},
			told:    []string{"CustomResourceDefinition shop stays, with 2 objects", "Namespace shop stays"},
		},
		"nobody can count": {
			objects: map[string]int{"shop": Uncounted},
			goes:    []string{"ClusterServiceVersion", "Role", "OperatorGroup", "Subscription"},
			told:    []string{"CustomResourceDefinition shop stays, with objects that cannot be read now, and so not be counted", "Namespace shop stays"},
		},
		"definitions go": {
			objects: map[string]int{"shop": 1}, definitions: true,
			goes: []string{"CustomResourceDefinition", "ClusterServiceVersion", "Role", "OperatorGroup", "Subscription"},
			told: []string{"CustomResourceDefinition shop goes, with 1 object", "Namespace shop stays"},
		},
		"definitions went before": {
			definitions: true,
			goes:        []string{"ClusterServiceVersion", "Role", "OperatorGroup", "Subscription"},
			told:        []string{"Namespace shop stays"},
		},
		"another operator stays": {
			others: []string{"mall.v1"},
			goes:   []string{"ClusterServiceVersion", "Role", "Subscription"},
			told:   []string{"OperatorGroup shop stays, for mall.v1", "Namespace shop stays"},
		},
		"a group and a Subscription came with no bundle": {
			manifests: byHand,
			goes:      []string{"ClusterServiceVersion", "Role"},
			told: []string{"Subscription shop stays: it came with no bundle; once nothing needs it: kubectl -n mall delete subscription.operators.coreos.com shop",
				"OperatorGroup shop stays: it came with no bundle; once nothing needs it: kubectl -n mall delete operatorgroup shop", "Namespace shop stays"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if test.manifests == nil {
				test.manifests = manifests
			}
			r := RemovalOf(test.manifests, test.objects, test.others, test.definitions)
			var goes []string
			definitions := 0
			for _, o := range r.Goes {
				goes = append(goes, o.GetKind())
				if o.GetKind() == "CustomResourceDefinition" {
					definitions++
				}
			}
			if diff := cmp.Diff(test.goes, goes); diff != "" {
				t.Errorf("what goes (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.told, r.Told); diff != "" {
				t.Errorf("what is told (-want +got)\n%s", diff)
			}
			if r.Definitions != definitions {
				t.Errorf("%d definitions are said to go, and %d do", r.Definitions, definitions)
			}
		})
	}
}
