package cycles

import (
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestOf(t *testing.T) {
	for name, test := range map[string]struct {
		edges map[int][]int
		want  [][]int
	}{
		"no edge":                   {map[int][]int{1: nil}, nil},
		"a node alone":              {map[int][]int{1: {1}, 2: {1}}, [][]int{{1}}},
		"a chain":                   {map[int][]int{1: {2}, 2: {3}}, nil},
		"two cycles with an edge":   {map[int][]int{5: {4}, 4: {5, 1}, 1: {2}, 2: {1}}, [][]int{{1, 2}, {4, 5}}},
		"cycles with a common node": {map[int][]int{1: {2}, 2: {1, 3}, 3: {2}}, [][]int{{1, 2, 3}}},
	} {
		installtest.Same(t, name, test.want, Of(test.edges))
	}
}
