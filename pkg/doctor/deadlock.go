package doctor

import (
	"cmp"
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
	down, lost := func(i int) bool { return broken[i] }, func(int) bool { return true }
	var findings []Finding
	surely := findDeadlocks(f, down, waysNow, matchesSurely)
	for _, cycle := range surely.cycles() {
		findings = append(findings, Finding{Error, Deadlock, named(f, cycle), "none of its pods is called, and none can come back: " + around(f, cycle), breakGlass})
	}
	now := findDeadlocks(f, down, waysNow, matches)
	for _, cycle := range now.cyclesBut(surely) {
		findings = append(findings, Finding{Warning, PossibleDeadlock, named(f, cycle),
			"none of its pods is called, and none can come back: " + around(f, cycle) + cmp.Or(conditions(f, cycle), ", unless those bear labels that an objectSelector leaves out"), breakGlass})
	}
	possible := findDeadlocks(f, lost, waysOnceLost, matches)
	for _, cycle := range possible.cyclesBut(now) {
		findings = append(findings, Finding{Warning, PossibleDeadlock, named(f, cycle),
			"if all of its pods are lost at once, as when all nodes are replaced, none can come back: " + around(f, cycle) + conditions(f, cycle),
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
