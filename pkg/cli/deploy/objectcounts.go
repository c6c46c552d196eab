package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ObjectCounts has the number of a definition's objects by namespace, "" for none. It is nil if they cannot be read.
type ObjectCounts map[string]int

const namedNamespaces = 10

// String is the number of objects.
func (p ObjectCounts) String() string {
	if p == nil {
		return countText(UnknownCount)
	}
	total := 0
	for _, n := range p {
		total += n
	}
	return countText(total)
}

// versions returns the end of a message about objects: in which versions they are stored.
func (p ObjectCounts) versions(stored string) string {
	if stored == "" || p.String() == countText(0) {
		return ""
	}
	return ", " + stored
}

func (p ObjectCounts) byNamespace() string {
	namespaces := slices.SortedFunc(maps.Keys(p), func(a, b string) int { return cmp.Or(cmp.Compare(p[b], p[a]), cmp.Compare(a, b)) })
	namespaces = slices.DeleteFunc(namespaces, func(namespace string) bool { return namespace == "" || p[namespace] == 0 })
	var parts []string
	for i, namespace := range namespaces {
		if i == namedNamespaces {
			parts = append(parts, fmt.Sprintf("the rest in %d more", len(namespaces)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%d in %s", p[namespace], namespace))
	}
	switch len(namespaces) {
	case 0:
		return p.String()
	case 1:
		return p.String() + " in namespace " + namespaces[0]
	default:
		return p.String() + " in namespaces: " + strings.Join(parts, ", ")
	}
}
