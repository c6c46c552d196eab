package scope

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Claims is an index of who provides which APIs where. Its costs do not depend on the number of operators.
type Claims struct {
	claims map[string]*claim
	apis   map[string]*claimants
}

type claim struct {
	key      string
	rival    Rival
	provided []string
	covered  []string
}

// claimants provide one API. It is known by its name, and to the lists of administrators by its kind.
type claimants struct {
	all        []*claim
	everywhere []*claim            // claims that cover all namespaces
	in         map[string][]*claim // the others, by the namespaces that they cover
}

// Set replaces the claim of a key; nil for none. It returns operators whose right to their APIs may change.
func (c *Claims) Set(key string, rival *Rival) []*operatorsv1alpha1.ClusterServiceVersion {
	before := c.claims[key]
	after := newClaim(key, rival)
	if before != nil && after != nil && before.equals(after) {
		before.rival = after.rival
		return nil
	}
	affected := map[string]*operatorsv1alpha1.ClusterServiceVersion{}
	if before != nil {
		c.concerned(before, affected)
		c.remove(before)
	}
	if after != nil {
		c.add(after)
		c.concerned(after, affected)
	}
	delete(affected, key)
	return lists.ByKey(affected)
}

// Has reports whether a key has a claim.
func (c *Claims) Has(key string) bool { return c.claims[key] != nil }

// Rivals returns those with the best right to an API, for one of the same namespaces, of other groups.
func (c *Claims) Rivals(s Scope, own Claimant) []Rival {
	var found []*claim
	add := func(list []*claim) {
		if i := slices.IndexFunc(list, func(other *claim) bool { return other.namespace() != s.Group.Namespace }); i >= 0 && !slices.Contains(found, list[i]) {
			found = append(found, list[i])
		}
	}
	for _, api := range provided(Rival{Claimant: own}) {
		known := c.apis[api]
		switch covered := s.covered(); {
		case known == nil:
		case slices.Contains(covered, metav1.NamespaceAll):
			add(known.all)
		default:
			add(known.everywhere)
			for _, namespace := range covered {
				add(known.in[namespace])
			}
		}
	}
	slices.SortFunc(found, byRight)
	return lists.Map(found, func(other *claim) Rival { return other.rival })
}

func newClaim(key string, rival *Rival) *claim {
	if rival == nil {
		return nil
	}
	apis := provided(*rival)
	if len(apis) == 0 {
		return nil
	}
	return &claim{key: key, rival: *rival, provided: apis, covered: rival.Scope.covered()}
}

// namePrefix is of the keys for names of definitions and APIServices.
const namePrefix = "name/"

// provided returns what a claim is indexed by: the names of the APIs of an operator, and all kinds.
func provided(r Rival) []string {
	var keys, kinds []string
	if r.CSV == nil {
		kinds = AnnotatedAPIs(r.Scope.Group)
	} else {
		for _, api := range r.apis() {
			keys, kinds = append(keys, namePrefix+api.Name), append(kinds, api.Kind)
		}
	}
	keys = append(keys, lists.Map(kinds, func(kind string) string { return "kind/" + kind })...)
	return lists.Sorted(keys)
}

func (c *claim) namespace() string { return c.rival.Scope.Group.Namespace }

// equals reports whether two claims of one key give the same right to the same.
func (c *claim) equals(other *claim) bool {
	return c.right() == other.right() && slices.Equal(c.provided, other.provided) && slices.Equal(c.covered, other.covered)
}

type right struct {
	group, csv types.UID
	standing   int
}

func (c *claim) right() right {
	if c.rival.CSV == nil { // the list of the OperatorGroup
		return right{group: c.rival.Scope.Group.UID}
	}
	return right{c.rival.Scope.Group.UID, c.rival.CSV.UID, c.rival.standing()}
}

// byRight orders claims: an administrator's list first, which needs no better right.
func byRight(a, b *claim) int {
	switch {
	case a == b:
		return 0
	case a.rival.CSV == nil && b.rival.CSV == nil:
		return cmp.Compare(a.key, b.key)
	case a.rival.CSV == nil || b.rival.CSV != nil && a.rival.Precedes(b.rival.Claimant):
		return -1
	default:
		return 1
	}
}

func (c *Claims) add(added *claim) {
	if c.claims == nil {
		c.claims, c.apis = map[string]*claim{}, map[string]*claimants{}
	}
	c.claims[added.key] = added
	for _, api := range added.provided {
		known := c.apis[api]
		if known == nil {
			known = &claimants{in: map[string][]*claim{}}
			c.apis[api] = known
		}
		known.all = inserted(known.all, added)
		if added.everywhere() {
			known.everywhere = inserted(known.everywhere, added)
			continue
		}
		for _, namespace := range added.covered {
			known.in[namespace] = inserted(known.in[namespace], added)
		}
	}
}

func (c *Claims) remove(removed *claim) {
	delete(c.claims, removed.key)
	for _, api := range removed.provided {
		known := c.apis[api]
		known.all = without(known.all, removed)
		known.everywhere = without(known.everywhere, removed)
		for _, namespace := range removed.covered {
			if known.in[namespace] = without(known.in[namespace], removed); len(known.in[namespace]) == 0 {
				delete(known.in, namespace)
			}
		}
		if len(known.all) == 0 {
			delete(c.apis, api)
		}
	}
}

func (c *claim) everywhere() bool { return slices.Contains(c.covered, metav1.NamespaceAll) }

func (c *Claims) concerned(by *claim, affected map[string]*operatorsv1alpha1.ClusterServiceVersion) {
	note := func(among, others []*claim) {
		if !leads(among, by) {
			return
		}
		for _, other := range others {
			if other.rival.CSV != nil {
				affected[other.key] = other.rival.CSV
			}
		}
	}
	for _, api := range by.provided {
		known := c.apis[api]
		for _, next := range successors(known.all, by) {
			if strings.HasPrefix(api, namePrefix) && servesAPIs(next) {
				affected[next.key] = next.rival.CSV
			}
		}
		note(known.all, known.everywhere)
		if by.everywhere() {
			note(known.everywhere, known.all)
			continue
		}
		for _, namespace := range by.covered {
			note(known.in[namespace], known.in[namespace])
		}
	}
}

// successors returns the versions of the operator that becomes the best one of all namespaces, or is no longer it, with one
// of the best. An operator serves an APIService next to a definition that it owns only if it has the best right to the
// definition in the cluster.
func successors(all []*claim, one *claim) []*claim {
	best := ofSameNamespace(all)
	if !slices.Contains(best, one) {
		return nil
	}
	return ofSameNamespace(all[len(best):])
}

// ofSameNamespace returns the first claims, of one namespace.
func ofSameNamespace(all []*claim) []*claim {
	if end := slices.IndexFunc(all, func(other *claim) bool { return other.namespace() != all[0].namespace() }); end >= 0 {
		return all[:end]
	}
	return all
}

func servesAPIs(c *claim) bool {
	return c.rival.CSV != nil && len(c.rival.CSV.Spec.APIServiceDefinitions.Owned) > 0
}

// leads reports whether a claim is the best, or the best of another namespace. No right depends on the others.
func leads(all []*claim, one *claim) bool {
	best := len(ofSameNamespace(all))
	return slices.Contains(all[:min(best+1, len(all))], one)
}

func inserted(sorted []*claim, added *claim) []*claim {
	at, _ := slices.BinarySearchFunc(sorted, added, byRight)
	return slices.Insert(sorted, at, added)
}

func without(sorted []*claim, removed *claim) []*claim {
	return slices.DeleteFunc(sorted, func(c *claim) bool { return c == removed })
}
