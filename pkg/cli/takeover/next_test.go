package takeover

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

var someOptions = Options{Concurrency: 2, ManagerReplicas: 2, OLMReplicas: 1, Settle: time.Minute}

var (
	policyObject  = Object{Kind: KindPolicy, Name: "crds.olm-webhook-manager.io"}
	bindingObject = Object{Kind: KindBinding, Name: "crds.olm-webhook-manager.io"}
)

func texts(all []Write) []string {
	return lists.Map(all, func(w Write) string { return fmt.Sprintf("%s %s=%s", w.Verb, w.Object, w.Value) })
}

func withOLM() *Snapshot { return snapshot(1, 0, csvNamed("a", "", ""), csvNamed("b", "", "")) }

// takenOver is the result of run. The manager has written its policy.
func takenOver() *Snapshot {
	s := snapshot(0, 2, csvNamed("a", Held, FormAdopted), csvNamed("b", Held, FormAdopted))
	s.Policies = []Object{bindingObject, policyObject}
	return s
}

// The order of the writes is part of the interface: CSVs have an order before olm-operator stops, and olm-operator has
// stopped before the manager starts.
func TestWritesInOrder(t *testing.T) {
	for name, test := range map[string]struct {
		from *Snapshot
		next NextFunc
		want []string
	}{
		"run": {withOLM(), Run(someOptions), []string{
			"label ClusterServiceVersion shop/a=given-back", "label ClusterServiceVersion shop/b=given-back",
			"scale Deployment olm-operator/olm-operator=0", "scale Deployment manager/manager=2",
			"label ClusterServiceVersion shop/a=held", "label ClusterServiceVersion shop/b=held",
		}},
		"run again": {takenOver(), Run(someOptions), nil},
		"undo": {takenOver(), Undo(someOptions), []string{
			"label ClusterServiceVersion shop/a=give-back", "label ClusterServiceVersion shop/a=given-back",
			"label ClusterServiceVersion shop/b=give-back", "label ClusterServiceVersion shop/b=given-back",
			"scale Deployment manager/manager=0",
			"delete MutatingAdmissionPolicyBinding crds.olm-webhook-manager.io=", "delete MutatingAdmissionPolicy crds.olm-webhook-manager.io=",
			"scale Deployment olm-operator/olm-operator=1",
			"label ClusterServiceVersion shop/a=", "label ClusterServiceVersion shop/b=",
			"delete WebhookRollout shop/a=", "delete WebhookRollout shop/b=",
		}},
		"undo before run": {withOLM(), Undo(someOptions), nil},
		"converge": {takenOver(), NextConverge(someOptions), []string{
			"label ClusterServiceVersion shop/a=converge", "label ClusterServiceVersion shop/a=",
			"label ClusterServiceVersion shop/b=converge", "label ClusterServiceVersion shop/b=",
		}},
		"converge one": {takenOver(), NextConverge(Options{Names: []types.NamespacedName{{Namespace: "shop", Name: "b"}}}), []string{
			"label ClusterServiceVersion shop/b=converge", "label ClusterServiceVersion shop/b=",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			installtest.Same(t, "writes", test.want, slices.Clip(texts(Predict(test.from, test.next))))
		})
	}
}

// isTakenOver and isGivenBack are the ends of run and undo.
func isTakenOver(s *Snapshot) bool {
	return s.OLM.Replicas == 0 && s.Manager.Replicas == 2 && len(lists.Filter(s.CSVs, s.isManaged)) == len(s.CSVs)
}

func isGivenBack(s *Snapshot) bool {
	return s.OLM.Replicas == 1 && s.Manager.Replicas == 0 && len(s.Policies) == 0 && s.ordered() == 0 &&
		!slices.ContainsFunc(s.CSVs, func(c CSV) bool { return c.HasRollout })
}

// A command that is interrupted after any write, before or after its effect, is completed by the same command, and undone
// by undo.
func TestInterruption(t *testing.T) {
	commands := map[string]NextFunc{"run": Run(someOptions), "undo": Undo(someOptions), "converge": NextConverge(someOptions)}
	ends := map[string]func(*Snapshot) bool{"run": isTakenOver, "undo": isGivenBack, "converge": isTakenOver}
	for name, from := range map[string]func() *Snapshot{"run": withOLM, "undo": takenOver, "converge": takenOver} {
		for then, end := range map[string]func(*Snapshot) bool{name: ends[name], "undo": isGivenBack} {
			for n := range len(Predict(from(), commands[name])) + 1 {
				for _, effective := range []bool{false, true} {
					what := fmt.Sprintf("%s after write %d of %s (effective: %t)", then, n, name, effective)
					s := interrupted(from(), commands[name], n, effective)
					for _, w := range Predict(s, commands[then]) {
						s.Apply(w)
						s.settle()
					}
					s.settle()
					installtest.Same(t, what, true, end(s))
				}
			}
		}
	}
}

// interrupted returns the snapshot after n writes of a command.
func interrupted(s *Snapshot, next NextFunc, n int, effective bool) *Snapshot {
	for i, w := range Predict(s, next) {
		if i == n {
			break
		}
		s.Apply(w)
		if i < n-1 || effective {
			s.settle()
		}
	}
	return s
}

func TestWaits(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	change := func(s *Snapshot, changes ...func(*Snapshot)) *Snapshot {
		for _, change := range changes {
			change(s)
		}
		return s
	}
	window, err := ParseWindow("22:00-04:00", time.UTC)
	installtest.Must(t, err)
	for name, test := range map[string]struct {
		snapshot *Snapshot
		next     NextFunc
		wait     string
		blocked  string
	}{
		"olm-operator's pod":  {change(snapshot(0, 0, csvNamed("a", GivenBack, "")), func(s *Snapshot) { s.OLM.Pods = []string{"olm-operator-0"} }), Run(someOptions), "the pods of Deployment olm-operator/olm-operator end: olm-operator-0", ""},
		"the manager's pods":  {change(snapshot(0, 2, csvNamed("a", GivenBack, "")), func(s *Snapshot) { s.Manager.Available = 1 }), Run(someOptions), "Deployment manager/manager has 1 of 2 replicas available", ""},
		"an adoption":         {snapshot(0, 2, csvNamed("a", Held, "")), Run(someOptions), "the manager adopts shop/a", ""},
		"two programs":        {snapshot(1, 2, csvNamed("a", Held, "")), Run(someOptions), "", "both run, and revert each other's writes"},
		"no olm-operator":     {&Snapshot{}, Run(someOptions), "", "no Deployment olm-operator exists"},
		"no manager":          {&Snapshot{OLM: program("olm-operator", 0)}, Run(someOptions), "", "the Deployment of the manager does not exist"},
		"held versions":       {change(takenOver(), func(s *Snapshot) { s.HeldDefinitions = []HeldDefinition{{Name: "caches.example.com"}} }), Undo(someOptions), "CustomResourceDefinitions caches.example.com are held", ""},
		"a give-back":         {snapshot(0, 2, csvNamed("a", GiveBack, FormAdopted)), Undo(someOptions), "the manager gives back shop/a", ""},
		"olm-operator starts": {change(snapshot(1, 0, csvNamed("a", GivenBack, FormGivenBack)), func(s *Snapshot) { s.OLM.Available = 0 }), Undo(someOptions), "Deployment olm-operator/olm-operator has 0 of 1 replicas available", ""},
		"olm-operator is new": {change(snapshot(1, 0, csvNamed("a", GivenBack, FormGivenBack)), func(s *Snapshot) { s.OLM.AvailableSince = now.Add(-time.Second) }), Undo(someOptions), "reconciles for 1m0s", ""},
		"a CSV fails":         {change(snapshot(1, 0, csvNamed("a", GivenBack, FormGivenBack)), func(s *Snapshot) { s.CSVs[0].Phase, s.CSVs[0].Cause = "Failed", "why" }), Undo(someOptions), "shop/a is Failed with olm-operator: why", ""},
		"a window":            {takenOver(), NextConverge(Options{Window: window}), "the maintenance window 22:00-04:00 UTC opens at 2026-01-01T22:00:00Z", ""},
		"a pod is missing":    {change(takenOver(), func(s *Snapshot) { s.CSVs[0].Deployments[0].Available = 0 }), NextConverge(someOptions), "Deployment server has 0 of 1 replicas available", ""},
		"a budget":            {change(takenOver(), func(s *Snapshot) { s.CSVs[0].Deployments[0].Budgets = []string{"pdb"} }), NextConverge(someOptions), "PodDisruptionBudget pdb allows no disruption of Deployment server", ""},
		"an unknown name":     {takenOver(), NextConverge(Options{Names: []types.NamespacedName{{Namespace: "shop", Name: "c"}}}), "", "ClusterServiceVersion shop/c does not exist"},
		"converge with OLM":   {withOLM(), NextConverge(someOptions), "", "the manager has not taken its place"},
		"converge in an undo": {snapshot(0, 2, csvNamed("a", GiveBack, FormAdopted)), NextConverge(someOptions), "", "is GivingBack: end takeover undo"},
	} {
		t.Run(name, func(t *testing.T) {
			d := test.next(test.snapshot, now)
			installtest.Contains(t, d.Wait, test.wait)
			installtest.Contains(t, d.Blocked, test.blocked)
			installtest.Same(t, "it waits, or is blocked", 1, installtest.Count([]string{d.Wait, d.Blocked}, func(text string) bool { return text != "" }))
			installtest.None(t, "writes", d.Writes)
		})
	}
}

// At most the given number of CSVs are adopted, or given back, at the same time.
func TestConcurrency(t *testing.T) {
	many := func(o Order, form Form) *Snapshot {
		return snapshot(0, 2, csvNamed("a", o, form), csvNamed("b", o, form), csvNamed("c", o, form))
	}
	for name, test := range map[string]struct {
		snapshot *Snapshot
		next     NextFunc
		to       Order
	}{
		"run":  {many(GivenBack, ""), Run(someOptions), Held},
		"undo": {many(Held, FormAdopted), Undo(someOptions), GiveBack},
	} {
		for range 10 {
			for _, w := range test.next(test.snapshot, time.Time{}).Writes {
				test.snapshot.Apply(w)
			}
		}
		installtest.Same(t, name, 2, installtest.Count(test.snapshot.CSVs, func(c CSV) bool { return c.Order == test.to }))
	}
}

func TestSingleReplicas(t *testing.T) {
	s := takenOver()
	s.CSVs[1].Deployments[0].Replicas = 2
	installtest.Same(t, "Deployments", []string{"shop/server"}, SingleReplicas(s, Options{}))
}

func TestWindow(t *testing.T) {
	at := func(clock string) time.Time {
		return installtest.OrPanic(time.Parse("2006-01-02 15:04", "2026-03-01 "+clock))
	}
	for text, test := range map[string]struct {
		inside, outside []string
		opens           string // after the first time outside
	}{
		"22:00-04:00": {[]string{"22:00", "23:59", "00:00", "03:59"}, []string{"04:00", "21:59"}, "2026-03-01 22:00"},
		"01:30-02:00": {[]string{"01:30", "01:59"}, []string{"02:00", "01:29"}, "2026-03-02 01:30"},
	} {
		w, err := ParseWindow(text, time.UTC)
		installtest.Must(t, err)
		for _, clock := range test.inside {
			installtest.Same(t, text+" contains "+clock, true, w.Contains(at(clock)))
		}
		for _, clock := range test.outside {
			installtest.Same(t, text+" contains "+clock, false, w.Contains(at(clock)))
		}
		installtest.Same(t, text+" opens", test.opens, w.Opens(at(test.outside[0])).Format("2006-01-02 15:04"))
		installtest.Same(t, "text", text+" UTC", w.String())
	}
	for _, text := range []string{"", "22:00", "25:00-04:00", "22:00-22:00"} {
		_, err := ParseWindow(text, time.UTC)
		installtest.Error(t, fmt.Sprintf("maintenance window %q", text), err)
	}
}
