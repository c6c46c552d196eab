package doctor

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
)

// Emergency is the section of docs/admin/emergency.md about webhooks that block a cluster.
const Emergency = "Emergency: a webhook blocks the cluster"

// unblock is the command that ends a deadlock: API servers call no webhook for changes of webhook configurations.
func unblock(f Facts, blocking []int) string {
	command := ""
	for _, i := range blocking {
		if w := f.Webhooks[i]; w.Kind == Validating || w.Kind == Mutating {
			command = fmt.Sprintf("kubectl delete %s %s", strings.ToLower(w.Kind), w.Object)
			break
		}
	}
	return fmt.Sprintf("%s (%q in docs/admin/emergency.md); or exempt the namespace of its pods with a namespaceSelector", command, Emergency)
}

func controlPlane(f Facts, broken map[int]bool) []Finding {
	var findings []Finding
	for i, w := range f.Webhooks {
		if !w.Fails || w.Kind == Conversion {
			continue
		}
		intercepted, about := intercepted(w, f), []string{w.String()}
		if intercepted == no {
			continue
		}
		if broken[i] && intercepted == surely {
			findings = append(findings, Finding{Error, ControlPlaneBlocked, about,
				"it intercepts leases or nodes and cannot be called: controllers lose leader election and nodes become NotReady", unblock(f, []int{i})})
			continue
		}
		findings = append(findings, Finding{Warning, ControlPlaneDepends, about,
			"it intercepts leases or nodes: when it cannot be called, controllers lose leader election and nodes become NotReady" + unless(w) + unlessLabelled(w, f),
			"let its rules name the resources that it is about, and leave out kube-system and kube-node-lease by namespaceSelector"})
	}
	return findings
}

func intercepted(w Webhook, f Facts) certainty {
	most := no
	for _, r := range controlPlaneNeeds(f.ControlPlane) {
		most = max(most, matches(w, r, f.Namespaces))
	}
	return most
}

func unlessLabelled(w Webhook, f Facts) string {
	if w.ObjectSelector == nil || len(f.ControlPlane.Unread) == 0 {
		return ""
	}
	return fmt.Sprintf(", unless its objectSelector leaves them out: their labels are not known, because %s may not be listed", strings.Join(f.ControlPlane.Unread, " and "))
}

func unless(w Webhook) string {
	if w.Conditional {
		return ", unless its matchConditions exempt them"
	}
	return ""
}

func deadlocks(f Facts, broken map[int]bool) []Finding {
	down, allLost := func(i int) bool { return broken[i] }, func(int) bool { return true }
	var findings []Finding
	certain := findBlocked(f, down, recoveryPathsNow, surely)
	for _, cycle := range certain.cycles() {
		findings = append(findings, Finding{Error, Deadlock, namesOf(f, cycle), "none of its pods is called, and none can become ready: " + cycleText(f, cycle), unblock(f, cycle)})
	}
	now := findBlocked(f, down, recoveryPathsNow, perhaps)
	for _, cycle := range now.cyclesExcept(certain) {
		findings = append(findings, Finding{Warning, PossibleDeadlock, namesOf(f, cycle),
			"none of its pods is called, and none can become ready: " + cycleText(f, cycle) + cmp.Or(conditions(f, cycle), ", unless those have labels that an objectSelector leaves out"), unblock(f, cycle)})
	}
	possible := findBlocked(f, allLost, recoveryPathsAfterLoss, perhaps)
	for _, cycle := range possible.cyclesExcept(now) {
		findings = append(findings, Finding{Warning, PossibleDeadlock, namesOf(f, cycle),
			"if all of its pods are lost at once, as when all nodes are replaced, none can become ready: " + cycleText(f, cycle) + conditions(f, cycle),
			"exempt the namespace of its pods with a namespaceSelector, or those pods with an objectSelector"})
	}
	return findings
}

func cycleText(f Facts, cycle []int) string {
	if len(cycle) == 1 {
		w := f.Webhooks[cycle[0]]
		return fmt.Sprintf("it intercepts what the pods behind its own Service %s need to start", w.Service)
	}
	services := lists.Sorted(lists.Map(cycle, func(i int) string { return f.Webhooks[i].Service.String() }))
	return fmt.Sprintf("they intercept what the pods behind each other's Services need to start: %s", strings.Join(services, ", "))
}

func conditions(f Facts, cycle []int) string {
	for _, i := range cycle {
		if f.Webhooks[i].Conditional {
			return unless(f.Webhooks[i])
		}
	}
	return ""
}
