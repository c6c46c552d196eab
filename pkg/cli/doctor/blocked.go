package doctor

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/cycles"
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

// cycles are the groups of webhooks that wait for each other.
func (w blockedWebhooks) cycles() [][]int { return cycles.Of(w) }
