package deploy

import (
	"cmp"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	api "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRemovalOf(t *testing.T) {
	var manifests []*unstructured.Unstructured
	for _, kind := range []api.GroupKind{groupkind.Namespace, groupkind.CustomResourceDefinition, {Group: "rbac.authorization.k8s.io", Kind: "Role"},
		groupkind.OperatorGroup, groupkind.Subscription, groupkind.ClusterServiceVersion} {
		o := object(kind.Kind, "mall", "")
		o.SetGroupVersionKind(kind.WithVersion("v1"))
		manifests = append(manifests, o)
	}
	counted := func(counts ObjectCounts) map[string]ObjectCounts { return map[string]ObjectCounts{"shop": counts} }
	all := []string{"ClusterServiceVersion", "Role", "OperatorGroup", "Subscription"}
	const namespaceStays = "Namespace shop stays"
	for name, test := range map[string]struct {
		objects        map[string]ObjectCounts
		stored         string
		others         []string
		definitions    bool
		goes, messages []string
	}{
		"definitions stay": {counted(ObjectCounts{"a": 1, "b": 1}), "", nil, false, all,
			[]string{"CustomResourceDefinition shop stays, with 2 objects", namespaceStays}},
		"definitions stay, and objects have one version": {counted(ObjectCounts{"a": 1, "b": 1}), "stored in v1", nil, false, all,
			[]string{"CustomResourceDefinition shop stays, with 2 objects, stored in v1", namespaceStays}},
		"definitions stay without objects": {counted(ObjectCounts{}), "which may be stored in v1 or v2", nil, false, all,
			[]string{"CustomResourceDefinition shop stays, with no objects", namespaceStays}},
		"they cannot be counted": {counted(nil), "", nil, false, all,
			[]string{"CustomResourceDefinition shop stays, with an unknown number of objects, which cannot be read now", namespaceStays}},
		"definitions are deleted": {counted(ObjectCounts{"a": 1, "b": 2}), "", nil, true, append([]string{"CustomResourceDefinition"}, all...),
			[]string{"CustomResourceDefinition shop is deleted, with 3 objects in namespaces: 2 in b, 1 in a", namespaceStays}},
		"definitions went before": {nil, "", nil, true, all, []string{namespaceStays}},
		"another operator stays": {nil, "", []string{"mall.v1"}, false, []string{"ClusterServiceVersion", "Role", "Subscription"},
			[]string{"OperatorGroup shop stays, for mall.v1", namespaceStays}},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRemoval(manifests, test.objects, map[string]string{"shop": test.stored}, test.others, test.definitions)
			goes := lists.Map(r.Delete, (*unstructured.Unstructured).GetKind)
			definitions := installtest.Count(goes, func(kind string) bool { return kind == "CustomResourceDefinition" })
			installtest.Same(t, "what is removed", test.goes, goes)
			installtest.Same(t, "output", test.messages, r.Messages)
			installtest.Same(t, "definitions that are listed as deleted", definitions, r.Definitions)
		})
	}
}

// The record decides about the OperatorGroup and the Subscription, and no annotation does.
func TestOwn(t *testing.T) {
	object := func(kind api.GroupKind, uid types.UID, by ...string) *unstructured.Unstructured {
		o := object(kind.Kind, "mall", uid, by...)
		o.SetGroupVersionKind(kind.WithVersion("v1"))
		if slices.Contains(by, FieldManager) {
			naming("mall/shop", o)
		}
		return o
	}
	recordOf := func(created bool, objects ...*unstructured.Unstructured) Record {
		return Record{CSV: "shop.v1", Namespace: "mall", Package: "shop", Objects: lists.Map(objects, func(o *unstructured.Unstructured) Recorded {
			return Recorded{
				TypeMeta:  metav1.TypeMeta{APIVersion: o.GetAPIVersion(), Kind: o.GetKind()},
				Namespace: "mall", Name: "shop", UID: o.GetUID(), Created: created,
			}
		})}
	}
	group, subscription := object(groupkind.OperatorGroup, "1", FieldManager), object(groupkind.Subscription, "2", FieldManager)
	byHand := []string{
		"OperatorGroup shop stays: no installation by these commands created it; once nothing needs it: kubectl -n mall delete operatorgroup shop",
		"Subscription shop stays: no installation by these commands created it; once nothing needs it: kubectl -n mall delete subscription.operators.coreos.com shop",
	}
	for name, test := range map[string]struct {
		record         Record
		earlier        []Record
		group          *unstructured.Unstructured
		goes, messages []string
	}{
		"created":                              {record: recordOf(true, group, subscription), goes: []string{"OperatorGroup", "Subscription"}},
		"only changed":                         {record: recordOf(false, group, subscription), messages: byHand},
		"no record":                            {messages: byHand},
		"recreated by another":                 {record: recordOf(true, group, subscription), group: object(groupkind.OperatorGroup, "3"), goes: []string{"Subscription"}, messages: byHand[:1]},
		"group of an earlier installation":     {record: recordOf(true, subscription), earlier: []Record{recordOf(true, group)}, goes: []string{"OperatorGroup", "Subscription"}},
		"forged record of another package":     {record: recordOf(true, subscription), earlier: []Record{recordOf(true, group)}, group: object(groupkind.OperatorGroup, "1", "kubectl"), goes: []string{"Subscription"}, messages: byHand[:1]},
		"Subscription of another's record":     {record: recordOf(true, group), earlier: []Record{recordOf(true, subscription)}, goes: []string{"OperatorGroup"}, messages: byHand[1:]},
		"group that an earlier one has joined": {record: recordOf(true, subscription), earlier: []Record{recordOf(false, group)}, goes: []string{"Subscription"}, messages: byHand[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			live := func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				if groupkind.Is(o, groupkind.Subscription) {
					return subscription, nil
				}
				return cmp.Or(test.group, group), nil
			}
			r := Removal{Delete: []*unstructured.Unstructured{group, subscription}}
			installtest.Must(t, r.Restrict(test.record, test.earlier, nil, live))
			goes := lists.Map(r.Delete, (*unstructured.Unstructured).GetKind)
			installtest.Same(t, "what is removed", test.goes, goes)
			installtest.Same(t, "output", test.messages, r.Messages)
		})
	}
}

// A record whose objects were deleted is brought up to date by the next removal: the update after the deletion may have
// failed. Definitions that exist stay in it.
func TestStaleRecord(t *testing.T) {
	crd := Recorded{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}, Name: "shop", UID: "1", Created: true}
	role := Recorded{TypeMeta: metav1.TypeMeta{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role"}, Namespace: "mall", Name: "shop", UID: "2", Created: true}
	for name, test := range map[string]struct {
		record Record
		exists []string // kinds
		stale  bool
		after  int // recorded objects
	}{
		"of an installation":               {Record{CSV: "shop.v1", Objects: []Recorded{crd, role}}, []string{"CustomResourceDefinition", "Role"}, false, 1},
		"all objects are deleted":          {Record{CSV: "shop.v1", Objects: []Recorded{crd, role}}, nil, true, 0},
		"without objects":                  {Record{CSV: "shop.v1"}, nil, true, 0},
		"the definition stays":             {Record{CSV: "shop.v1", Objects: []Recorded{crd, role}}, []string{"CustomResourceDefinition"}, true, 1},
		"of a definition that stays":       {Record{Objects: []Recorded{crd}}, []string{"CustomResourceDefinition"}, false, 1},
		"of a definition that was deleted": {Record{Objects: []Recorded{crd}}, nil, true, 0},
		"none":                             {},
	} {
		t.Run(name, func(t *testing.T) {
			live := func(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
				if !slices.Contains(test.exists, o.GetKind()) {
					return nil, nil
				}
				o = o.DeepCopy()
				o.SetUID(map[string]types.UID{"CustomResourceDefinition": "1", "Role": "2"}[o.GetKind()])
				return o, nil
			}
			r := Removal{Delete: []*unstructured.Unstructured{role.object()}}
			installtest.Must(t, r.Restrict(test.record, nil, nil, live))
			installtest.Same(t, "stale", test.stale, r.StaleRecord)
			after := r.RecordAfter(test.record, r.Delete)
			installtest.Same(t, "recorded after it", test.after, len(after.Objects))
			installtest.Same(t, "version after it", "", after.CSV)
		})
	}
}
