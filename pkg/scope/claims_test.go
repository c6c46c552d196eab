package scope

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// provider is an operator of a namespace whose group covers some namespaces; none means all.
func provider(namespace string, age time.Duration, apis []string, covers ...string) *Rival {
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "op.v1", UID: types.UID("op-" + namespace), CreationTimestamp: metav1.NewTime(noon.Add(-age)),
	}}
	for _, api := range apis {
		csv.Spec.CustomResourceDefinitions.Owned = append(csv.Spec.CustomResourceDefinitions.Owned, operatorsv1alpha1.CRDDescription{Name: strings.ToLower(api) + "s.example.com", Version: "v1", Kind: api})
	}
	if len(covers) == 0 {
		covers = []string{metav1.NamespaceAll}
	}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "og", UID: types.UID("og-" + namespace)}}
	return &Rival{Claimant: Claimant{CSV: csv}, Scope: Scope{Group: group, Namespaces: covers}}
}

// lister is a group whose administrator lists what it provides.
func lister(namespace string, apis []string, covers ...string) *Rival {
	r := provider(namespace, 0, nil, covers...)
	r.CSV = nil
	kinds := lists.Map(apis, func(api string) string { return api + ".v1.example.com" })
	r.Scope.Group.Annotations = map[string]string{operatorsv1.OperatorGroupProvidedAPIsAnnotationKey: strings.Join(kinds, ",")}
	r.Scope.Group.Spec.StaticProvidedAPIs = true
	return r
}

func keyOf(r *Rival) string {
	if r.CSV == nil {
		return r.Scope.Group.Namespace
	}
	return r.CSV.Namespace + "/" + r.CSV.Name
}

// The index gives the same answer as an evaluation of all groups, and names the groups whose answer a change affects.
func TestClaims(t *testing.T) {
	dice := dice{1}
	for range 200 {
		world := claimsWorld{current: map[string]*Rival{}, answers: map[string]bool{}}
		for change := range 60 {
			concerned := world.change(&dice)
			if problem := world.check(concerned); problem != "" {
				t.Fatalf("change %d: %s", change, problem)
			}
		}
	}
}

// claimsWorld is the index and everything that was written to it.
type claimsWorld struct {
	index   Claims
	current map[string]*Rival
	answers map[string]bool // whether an operator has a conflict, as it was last
}

func (w *claimsWorld) change(dice *dice) map[string]bool {
	changed := dice.rival()
	key := keyOf(changed)
	if w.current[key] = changed; dice.below(5) == 0 {
		changed = nil
		delete(w.current, key)
		delete(w.answers, key)
	}
	concerned := map[string]bool{key: true}
	for _, csv := range w.index.Set(key, changed) {
		concerned[csv.Namespace+"/"+csv.Name] = true
	}
	return concerned
}

func (w *claimsWorld) check(concerned map[string]bool) string {
	for key, r := range w.current {
		if r.CSV == nil {
			continue
		}
		got := r.Scope.Conflict(r.Claimant, w.index.Rivals(r.Scope, r.Claimant)) != nil
		if want := r.Scope.Conflict(r.Claimant, others(w.current, key)) != nil; got != want {
			return fmt.Sprintf("%s has a conflict: %t by the index, %t by an evaluation of all groups", key, got, want)
		}
		if before, known := w.answers[key]; known && before != got && !concerned[key] {
			return fmt.Sprintf("%s has a conflict now: %t, and the change did not name it", key, got)
		}
		w.answers[key] = got
	}
	return ""
}

// dice give the same numbers for the same seed.
type dice struct{ state uint64 }

// below is a number from 0 to n-1, by a linear congruential generator.
func (d *dice) below(n int) int {
	d.state = d.state*6364136223846793005 + 1442695040888963407
	return int(d.state >> 33 % uint64(n))
}

func (d *dice) pick(from ...string) []string {
	return slices.DeleteFunc(from, func(string) bool { return d.below(2) == 0 })
}

// rival is an operator or a group of one of six namespaces.
func (d *dice) rival() *Rival {
	namespace := fmt.Sprint("ns", d.below(6))
	r := provider(namespace, time.Duration(d.below(3))*time.Hour, d.pick("A", "B", "C"), d.pick("ns1", "ns2", "ns3", "ns4")...)
	switch d.below(6) {
	case 0:
		r.CSV.Status.Phase, r.CSV.Status.Reason = operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInterOperatorGroupOwnerConflict
	case 1, 2:
		r.Began = true
	case 3:
		return lister(namespace, d.pick("A", "B"), d.pick("ns1", "ns2")...)
	}
	return r
}

func others(all map[string]*Rival, but string) []Rival {
	var rivals []Rival
	for key, r := range all {
		if key != but {
			rivals = append(rivals, *r)
		}
	}
	return rivals
}

// The same operator in many teams, each with namespaces of its own: an event of one concerns no other.
func TestAClaimConcernsOnlyThoseInTheSameNamespaces(t *testing.T) {
	var index Claims
	for i := range 100 {
		namespace := fmt.Sprint("team-", i)
		same(t, "others that the operator of "+namespace+" concerns", 0, len(index.Set(namespace+"/op.v1", provider(namespace, 0, []string{"A", "B"}, namespace))))
	}
	one := provider("team-7", 0, []string{"A", "B"}, "team-7")
	one.Began = true
	same(t, "others that are concerned when that one has begun", 0, len(index.Set("team-7/op.v1", one)))
	same(t, "its rivals", 0, len(index.Rivals(one.Scope, one.Claimant)))
	everywhere := provider("platform", time.Hour, []string{"A"})
	same(t, "others that an operator of all namespaces concerns", 100, len(index.Set("platform/op.v1", everywhere)))
	everywhere.Began = true
	if rivals := index.Rivals(one.Scope, one.Claimant); len(rivals) != 1 || rivals[0].CSV.Namespace != "platform" {
		t.Errorf("the rivals are %v", rivals)
	}
}

// A rival is found for any name of its kind, and an administrator's list by the kinds that it has.
func TestClaimsFindAnAPIWhateverItsKindIsCalled(t *testing.T) {
	own := provider("shop", 0, []string{"Pond"})
	own.CSV.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{Group: "rivers.example.com", Version: "v1", Kind: "River"}}
	for name, rival := range map[string]*Rival{
		"a definition": func() *Rival {
			r := provider("bar", time.Hour, []string{"Pond"})
			r.CSV.Spec.CustomResourceDefinitions.Owned[0].Kind, r.CSV.Spec.CustomResourceDefinitions.Owned[0].Version = "pond", "v2"
			return r
		}(),
		"an APIService": func() *Rival {
			r := provider("bar", time.Hour, nil)
			r.CSV.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{Group: "rivers.example.com", Version: "v1", Kind: "river"}}
			return r
		}(),
		"a list": lister("bar", []string{"Lake", "Pond"}),
	} {
		var index Claims
		index.Set("shop/op.v1", own)
		if concerned := index.Set(keyOf(rival), rival); len(concerned) != 1 || concerned[0] != own.CSV {
			t.Errorf("%s concerns %v", name, concerned)
		}
		if rivals := index.Rivals(own.Scope, own.Claimant); len(rivals) != 1 || own.Scope.Conflict(own.Claimant, rivals) == nil {
			t.Errorf("%s: the rivals are %v", name, rivals)
		}
	}
}

// An APIService next to a definition depends on the best right to the definition among all namespaces. Only the
// operator that loses or gains this right is concerned by a change, with all its versions.
func TestClaimsConcernTheSuccessor(t *testing.T) {
	var index Claims
	aged := func(i int) *Rival {
		namespace := fmt.Sprint("team-", i)
		r := provider(namespace, time.Duration(100-i)*time.Hour, []string{"A"}, namespace)
		r.CSV.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{Group: "example.com", Version: "v1", Kind: "Pond"}}
		return r
	}
	for i := range 5 {
		same(t, fmt.Sprintf("others that team %d concerns", i), 0, len(index.Set(keyOf(aged(i)), aged(i))))
	}
	same(t, "others that another version of team 2 concerns", 1, len(index.Set("team-2/op.v2", aged(2))))
	began := aged(3)
	began.Began = true
	for _, test := range []struct {
		what, key, want string
		rival           *Rival
	}{
		{"the last one ends", "team-4/op.v1", "", nil},
		{"the second one ends", "team-1/op.v1", "", nil},
		{"another one gets the best right", "team-3/op.v1", "team-0", began},
		{"the best one ends", "team-3/op.v1", "team-0", nil},
		{"the next one ends", "team-0/op.v1", "team-2 team-2", nil},
		{"an older one is created", "team-0/op.v1", "team-2 team-2", aged(0)},
	} {
		var concerned []string
		for _, csv := range index.Set(test.key, test.rival) {
			concerned = append(concerned, csv.Namespace)
		}
		same(t, test.what+": concerns", test.want, strings.Join(concerned, " "))
	}
}
