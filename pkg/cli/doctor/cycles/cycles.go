// Package cycles finds the cycles of a graph: its strongly connected components, by Tarjan's algorithm.
package cycles

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Of returns the groups of nodes that reach each other, each sorted, in the order of their first nodes. A node alone
// counts if it has an edge to itself.
func Of(edges map[int][]int) [][]int {
	c := components{edges: edges, number: map[int]int{}, lowest: map[int]int{}, open: sets.New[int]()}
	for _, i := range slices.Sorted(maps.Keys(edges)) {
		if c.number[i] == 0 {
			c.visit(i)
		}
	}
	slices.SortFunc(c.found, func(a, b []int) int { return a[0] - b[0] })
	return c.found
}

// components finds the strongly connected components of a graph with a cycle.
type components struct {
	edges          map[int][]int
	number, lowest map[int]int // in the order of visits, from 1; the lowest one that is reached
	stack          []int
	open           sets.Set[int] // those on the stack
	found          [][]int
}

func (c *components) visit(i int) {
	c.number[i] = len(c.number) + 1
	c.lowest[i] = c.number[i]
	c.stack, c.open = append(c.stack, i), c.open.Insert(i)
	for _, j := range c.edges[i] {
		if c.number[j] == 0 {
			c.visit(j)
			c.lowest[i] = min(c.lowest[i], c.lowest[j])
		} else if c.open.Has(j) {
			c.lowest[i] = min(c.lowest[i], c.number[j])
		}
	}
	if c.lowest[i] == c.number[i] {
		c.close(i)
	}
}

// close ends the component that begins with i.
func (c *components) close(i int) {
	begin := slices.Index(c.stack, i)
	component := slices.Clone(c.stack[begin:])
	c.stack = c.stack[:begin]
	c.open.Delete(component...)
	slices.Sort(component)
	if len(component) > 1 || slices.Contains(c.edges[i], i) {
		c.found = append(c.found, component)
	}
}
