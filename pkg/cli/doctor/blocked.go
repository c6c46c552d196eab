package doctor

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// blockedWebhooks has the webhooks that cannot recover, each with those of them that block it.
type blockedWebhooks map[int][]int

// findBlocked starts with all webhooks that are down. It removes those with an unblocked path until there are none.
func findBlocked(f Facts, down func(int) bool, paths func(types.NamespacedName, Service) [][]request, least certainty) blockedWebhooks {
	services := servicesDown(f, down)
	for name, s := range services {
		for _, path := range paths(name, f.Services[name]) {
			s.paths = append(s.paths, &recoveryPath{service: s, blocking: webhooksBlocking(f, path, least)})
		}
	}
	left := stillBlocked(services)
	blocked := blockedWebhooks{}
	for _, s := range services {
		blocking := sets.New[int]()
		for _, p := range s.paths {
			blocking.Insert(p.blocking...)
		}
		by := sets.List(blocking.Intersection(left))
		for _, i := range s.webhooks {
			if left.Has(i) {
				blocked[i] = by
			}
		}
	}
	return blocked
}

type serviceDown struct {
	webhooks []int
	paths    []*recoveryPath
}

type recoveryPath struct {
	service  *serviceDown
	blocking []int
	left     int // how many of blocking are still blocked themselves
}

// servicesDown omits webhooks whose pods are not known: they block no other.
func servicesDown(f Facts, down func(int) bool) map[types.NamespacedName]*serviceDown {
	services := map[types.NamespacedName]*serviceDown{}
	for i, w := range f.Webhooks {
		if s, there := f.Services[w.Service]; !down(i) || !there || s.ExternalEndpoints {
			continue
		}
		if services[w.Service] == nil {
			services[w.Service] = &serviceDown{}
		}
		services[w.Service].webhooks = append(services[w.Service].webhooks, i)
	}
	return services
}

// stillBlocked reads and changes each path once for each webhook that blocks it.
func stillBlocked(services map[types.NamespacedName]*serviceDown) sets.Set[int] {
	left := sets.New[int]()
	for _, s := range services {
		if len(s.paths) > 0 {
			left.Insert(s.webhooks...)
		}
	}
	blockedBy := map[int][]*recoveryPath{}
	var free []*recoveryPath
	for _, s := range services {
		for _, p := range s.paths {
			for _, i := range p.blocking {
				if left.Has(i) {
					blockedBy[i] = append(blockedBy[i], p)
					p.left++
				}
			}
			if p.left == 0 {
				free = append(free, p)
			}
		}
	}
	for len(free) > 0 {
		p := free[len(free)-1]
		free = free[:len(free)-1]
		for _, i := range p.service.webhooks {
			if !left.Has(i) {
				continue
			}
			left.Delete(i)
			for _, q := range blockedBy[i] {
				if q.left--; q.left == 0 {
					free = append(free, q)
				}
			}
		}
	}
	return left
}

func webhooksBlocking(f Facts, path []request, least certainty) []int {
	var blocking []int
	for j, w := range f.Webhooks {
		if w.Fails && slices.ContainsFunc(path, func(r request) bool { return matches(w, r, f.Namespaces) >= least }) {
			blocking = append(blocking, j)
		}
	}
	return blocking
}

func (w blockedWebhooks) has(i int) bool {
	_, waits := w[i]
	return waits
}

func (w blockedWebhooks) cyclesExcept(others blockedWebhooks) [][]int {
	return slices.DeleteFunc(w.cycles(), func(cycle []int) bool { return slices.ContainsFunc(cycle, others.has) })
}

// cycles are the groups of webhooks that wait for each other, by Tarjan's algorithm.
func (w blockedWebhooks) cycles() [][]int {
	c := components{edges: w, number: map[int]int{}, lowest: map[int]int{}, open: sets.New[int]()}
	for _, i := range slices.Sorted(maps.Keys(w)) {
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
