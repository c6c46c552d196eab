package doctor

import (
	"fmt"
	"slices"
	"strings"
)

const breakGlass = `take one of them out of the way ("break the glass" in docs/operations.md), or exempt the namespace of its pods with a namespaceSelector`

// controlPlane finds webhooks that leases and nodes depend on: while such a one cannot be
// called, nothing is scheduled, and nodes seem lost.
func controlPlane(f Facts, broken map[int]bool) []Finding {
	var findings []Finding
	for i, w := range f.Webhooks {
		if !w.Fails || w.Kind == Conversion || !slices.ContainsFunc(clusterNeeds, func(r request) bool { return matches(w, r, f.Namespaces) }) {
			continue
		}
		about := []string{w.String()}
		if broken[i] && !w.Conditional {
			findings = append(findings, Finding{Error, ControlPlaneBlocked, about,
				"it intercepts leases or nodes and cannot be called: controllers lose their lead and nodes seem lost", breakGlass})
			continue
		}
		findings = append(findings, Finding{Warning, ControlPlaneDepends, about,
			"it intercepts leases or nodes: when it cannot be called, controllers lose their lead and nodes seem lost" + unless(w),
			"let its rules name the resources that it is about, and leave out kube-system and kube-node-lease by namespaceSelector"})
	}
	return findings
}

func unless(w Webhook) string {
	if w.Conditional {
		return ", unless its matchConditions exempt them"
	}
	return ""
}

// deadlocks finds webhooks whose pods need each other, or themselves, to come back.
func deadlocks(f Facts, broken map[int]bool) []Finding {
	waitsFor := dependencies(f)
	now := stuck(waitsFor, func(i int) bool { return broken[i] })
	var findings []Finding
	for _, cycle := range cycles(waitsFor, now) {
		findings = append(findings, Finding{Error, Deadlock, named(f, cycle), "none of its pods is called, and none can come back: " + around(f, cycle), breakGlass})
	}
	possible := stuck(waitsFor, func(int) bool { return true })
	for _, cycle := range cycles(waitsFor, possible) {
		if slices.ContainsFunc(cycle, func(i int) bool { return now[i] }) {
			continue
		}
		findings = append(findings, Finding{Warning, PossibleDeadlock, named(f, cycle),
			"if all of its pods are lost at once, as when all nodes restart, none can come back: " + around(f, cycle) + conditions(f, cycle),
			"exempt the namespace of its pods with a namespaceSelector, or those pods with an objectSelector"})
	}
	return findings
}

// around says who needs whom.
func around(f Facts, cycle []int) string {
	if len(cycle) == 1 {
		w := f.Webhooks[cycle[0]]
		return fmt.Sprintf("it intercepts what the pods behind its own Service %s need to start", w.Service)
	}
	var services []string
	for _, i := range cycle {
		services = append(services, f.Webhooks[i].Service.String())
	}
	slices.Sort(services)
	return fmt.Sprintf("they intercept what the pods behind each other's Services need to start: %s", strings.Join(slices.Compact(services), ", "))
}

func conditions(f Facts, cycle []int) string {
	for _, i := range cycle {
		if f.Webhooks[i].Conditional {
			return unless(f.Webhooks[i])
		}
	}
	return ""
}

// dependencies are, for each webhook, those that its pods need to come back. One that
// does not refuse, or whose pods are not known, holds nobody up.
func dependencies(f Facts) map[int][]int {
	waitsFor := map[int][]int{}
	for i, w := range f.Webhooks {
		s := f.Services[w.Service]
		if !w.Fails || s.Foreign {
			continue
		}
		for j, other := range f.Webhooks {
			if other.Fails && other.Kind != Conversion && heldUp(w, s, other, f) {
				waitsFor[i] = append(waitsFor[i], j)
			}
		}
	}
	return waitsFor
}

func heldUp(w Webhook, s Service, by Webhook, f Facts) bool {
	for _, p := range s.Pods {
		for _, r := range needs(w.Service.Namespace, w.Service.Name, p) {
			if matches(by, r, f.Namespaces) {
				return true
			}
		}
	}
	return false
}

// stuck are the webhooks of those that are down that cannot come back: each waits for one
// that cannot either. What can come back is found by repetition, beginning with those
// that wait for nobody.
func stuck(waitsFor map[int][]int, down func(int) bool) map[int]bool {
	left := map[int]bool{}
	for i := range waitsFor {
		if down(i) {
			left[i] = true
		}
	}
	for freed := true; freed; {
		freed = false
		for i := range left {
			if !slices.ContainsFunc(waitsFor[i], func(j int) bool { return left[j] }) {
				delete(left, i)
				freed = true
			}
		}
	}
	return left
}

// cycles are the groups of webhooks that wait for each other, among those given.
func cycles(waitsFor map[int][]int, among map[int]bool) [][]int {
	var groups [][]int
	grouped := map[int]bool{}
	for _, i := range sorted(among) {
		if grouped[i] {
			continue
		}
		there := reachable(waitsFor, among, i)
		var group []int
		for _, j := range sorted(there) {
			if reachable(waitsFor, among, j)[i] {
				group = append(group, j)
				grouped[j] = true
			}
		}
		if len(group) > 0 {
			groups = append(groups, group)
		}
	}
	return groups
}

// reachable are all that one waits for, over any number of others; itself if it is in a cycle.
func reachable(waitsFor map[int][]int, among map[int]bool, from int) map[int]bool {
	seen := map[int]bool{}
	next := []int{from}
	for len(next) > 0 {
		i := next[0]
		next = next[1:]
		for _, j := range waitsFor[i] {
			if among[j] && !seen[j] {
				seen[j] = true
				next = append(next, j)
			}
		}
	}
	return seen
}

func sorted(set map[int]bool) []int {
	var all []int
	for i, in := range set {
		if in {
			all = append(all, i)
		}
	}
	slices.Sort(all)
	return all
}
