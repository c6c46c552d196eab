package bench

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

const eventLimit = 100 * time.Millisecond

// BenchmarkTeams is one event in the index of provided APIs, among the operators of many teams. Either all teams have
// namespaces of their own, or all cover all namespaces.
func BenchmarkTeams(b *testing.B) {
	for _, number := range []int{100, 400, 1600} {
		for name, covers := range map[string]func(team string) []string{
			"apart":      func(team string) []string { return []string{team} },
			"everywhere": func(string) []string { return []string{metav1.NamespaceAll} },
		} {
			b.Run(fmt.Sprintf("%s/teams=%d", name, number), func(b *testing.B) {
				var index scope.Claims
				var teams []*scope.Rival
				for i := range number {
					teams = append(teams, team(i, covers))
					index.Set(keyOf(teams[i]), teams[i])
				}
				began := false
				for b.Loop() {
					began = !began
					changed := *teams[0]
					changed.Began = began
					for range index.Set(keyOf(&changed), &changed) {
						index.Rivals(changed.Scope, changed.Claimant)
					}
					index.Rivals(changed.Scope, changed.Claimant)
				}
				if each := b.Elapsed() / time.Duration(b.N); number <= 400 && each > eventLimit {
					b.Errorf("one event takes %s, more than %s", each, eventLimit)
				}
			})
		}
	}
}

func team(number int, covers func(string) []string) *scope.Rival {
	name := fmt.Sprintf("team-%04d", number)
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "op.v1", UID: types.UID(name)}}
	for kind := range 10 {
		csv.Spec.CustomResourceDefinitions.Owned = append(csv.Spec.CustomResourceDefinitions.Owned,
			operatorsv1alpha1.CRDDescription{Name: fmt.Sprintf("kinds%d.example.com", kind), Version: "v1", Kind: fmt.Sprint("Kind", kind)})
	}
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "og", UID: types.UID("og-" + name)}}
	return &scope.Rival{Claimant: scope.Claimant{CSV: csv}, Scope: scope.Scope{Group: group, Namespaces: covers(name)}}
}

func keyOf(r *scope.Rival) string { return r.CSV.Namespace + "/" + r.CSV.Name }
