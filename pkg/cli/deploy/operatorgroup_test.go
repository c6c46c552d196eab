package deploy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// An installation does not mark an existing group or Subscription as created by a bundle.
func TestAdopt(t *testing.T) {
	ofBundle := map[string]string{wellknown.AnnotationCreatedBy: wellknown.CreatedByBundle}
	group := func(name string, annotations map[string]string) operatorsv1.OperatorGroup {
		return operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}}
	}
	groups := func(live ...operatorsv1.OperatorGroup) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { AdoptGroup(o, live) }
	}
	subscription := func(name, of string, annotations map[string]string) operatorsv1alpha1.Subscription {
		return operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: annotations}, Spec: &operatorsv1alpha1.SubscriptionSpec{Package: of}}
	}
	subscriptions := func(live ...operatorsv1alpha1.Subscription) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { AdoptSubscription(o, live, "shop") }
	}
	for name, test := range map[string]struct {
		adopt    func(*unstructured.Unstructured)
		want     string
		ofBundle bool
	}{
		"no group":                               {groups(), "shop", true},
		"a group of a bundle":                    {groups(group("mall", ofBundle)), "mall", true},
		"a group created by hand":                {groups(group("mall", nil)), "mall", false},
		"a group that reports something else":    {groups(group("mall", map[string]string{wellknown.AnnotationCreatedBy: "me"})), "mall", false},
		"two groups, and its name is by hand":    {groups(group("mall", ofBundle), group("shop", nil)), "shop", false},
		"two groups, and its name is a bundle":   {groups(group("mall", nil), group("shop", ofBundle)), "shop", true},
		"no Subscription":                        {subscriptions(), "shop", true},
		"a Subscription of a bundle":             {subscriptions(subscription("mall", "shop", ofBundle)), "mall", true},
		"a Subscription created by hand":         {subscriptions(subscription("mall", "shop", nil)), "mall", false},
		"a Subscription of another package":      {subscriptions(subscription("mall", "stock", nil)), "shop", true},
		"a Subscription that reports nothing":    {subscriptions(operatorsv1alpha1.Subscription{ObjectMeta: metav1.ObjectMeta{Name: "mall"}}), "shop", true},
		"two Subscriptions, of which one counts": {subscriptions(subscription("stock", "stock", ofBundle), subscription("mall", "shop", nil)), "mall", false},
	} {
		adopted := object("", "", "")
		adopted.SetAnnotations(ofBundle)
		test.adopt(adopted)
		installtest.Same(t, name+": the name", test.want, adopted.GetName())
		installtest.Same(t, name+": it has the annotation of a bundle", test.ofBundle, len(adopted.GetAnnotations()) > 0)
	}
}

// An existing group decides, unless the administrator chooses otherwise for the only operator there.
func TestWatched(t *testing.T) {
	groups := func(specs ...operatorsv1.OperatorGroupSpec) []operatorsv1.OperatorGroup {
		return lists.Map(specs, func(spec operatorsv1.OperatorGroupSpec) operatorsv1.OperatorGroup {
			return operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: "shop-operator", Name: "shop"}, Spec: spec}
		})
	}
	named := func(namespaces ...string) operatorsv1.OperatorGroupSpec {
		return operatorsv1.OperatorGroupSpec{TargetNamespaces: namespaces}
	}
	everywhere := []string{""}
	selecting := operatorsv1.OperatorGroupSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"team": "shop"}}}
	selected := groups(selecting)
	selected[0].Status.Namespaces = []string{"a", "b"}
	neighbour := []string{"shop.v1"}
	for name, test := range map[string]struct {
		groups         []operatorsv1.OperatorGroup
		chosen, others []string
		want           []string
		kept, err      string
	}{
		"no group, nothing chosen":         {groups(), nil, nil, nil, "", ""},
		"no group":                         {groups(), []string{"a"}, nil, []string{"a"}, "", ""},
		"nothing chosen":                   {groups(named("a", "b")), nil, nil, []string{"a", "b"}, "kept as it is: for a, b", ""},
		"nothing chosen, next to another":  {groups(named("a", "b")), nil, neighbour, []string{"a", "b"}, "kept as it is: for a, b", ""},
		"nothing chosen, a group for all":  {groups(named()), nil, neighbour, everywhere, "for all namespaces", ""},
		"nothing chosen, a selector":       {selected, nil, neighbour, []string{"a", "b"}, `its selector "team=shop" matches`, ""},
		"nothing chosen, nothing selected": {groups(selecting), nil, neighbour, nil, "", `its selector "team=shop" matches, and its status names none`},
		"others, alone":                    {groups(named("a")), []string{"b"}, nil, []string{"b"}, "", ""},
		"the same, next to another":        {groups(named("a", "b")), []string{"b", "a", "a"}, neighbour, []string{"b", "a", "a"}, "", ""},
		"all, next to one for all":         {groups(named()), everywhere, neighbour, everywhere, "", ""},
		"more, next to another":            {groups(named("a")), []string{"a", "b"}, neighbour, nil, "", "OperatorGroup shop-operator/shop is for a, and so is shop.v1"},
		"all, next to another":             {groups(named("a")), everywhere, neighbour, nil, "", "use another namespace for this operator (-n)"},
		"one, next to one for all":         {groups(named()), []string{"a"}, neighbour, nil, "", "is for all namespaces, and so is shop.v1"},
		"all, next to a selector":          {groups(selecting), everywhere, neighbour, nil, "", `its selector "team=shop" matches`},
		"two groups":                       {groups(named("a"), named("a")), nil, nil, nil, "", "has 2 OperatorGroups"},
	} {
		t.Run(name, func(t *testing.T) {
			watch, kept, err := Watched(test.groups, test.chosen, test.others)
			installtest.Same(t, "watched", test.want, watch)
			installtest.Says(t, "the message", test.kept, kept)
			installtest.Error(t, test.err, err)
		})
	}
}
