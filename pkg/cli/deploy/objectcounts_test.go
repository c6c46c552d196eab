package deploy

import (
	"fmt"
	"testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestPopulation(t *testing.T) {
	many := ObjectCounts{}
	for i := range 12 {
		many[fmt.Sprintf("team-%02d", i)] = 1
	}
	for name, test := range map[string]struct {
		population          ObjectCounts
		number, byNamespace string
	}{
		"they cannot be read": {nil, "an unknown number of objects, which cannot be read now", "an unknown number of objects, which cannot be read now"},
		"none":                {ObjectCounts{}, "no objects", "no objects"},
		"without a namespace": {ObjectCounts{"": 2}, "2 objects", "2 objects"},
		"in one namespace":    {ObjectCounts{"shop": 1}, "1 object", "1 object in namespace shop"},
		"the most first":      {ObjectCounts{"a": 1, "b": 3, "c": 1}, "5 objects", "5 objects in namespaces: 3 in b, 1 in a, 1 in c"},
		"in many namespaces": {many, "12 objects", "12 objects in namespaces: 1 in team-00, 1 in team-01, 1 in team-02, 1 in team-03, 1 in team-04, " +
			"1 in team-05, 1 in team-06, 1 in team-07, 1 in team-08, 1 in team-09, the rest in 2 more"},
	} {
		installtest.Same(t, name+": number", test.number, test.population.String())
		installtest.Same(t, name+": by Namespace", test.byNamespace, test.population.byNamespace())
	}
}
