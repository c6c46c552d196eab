package takeover

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func accepting(names ...string) Options {
	o := someOptions
	for _, name := range names {
		o.Accepted = append(o.Accepted, types.NamespacedName{Namespace: "shop", Name: name})
	}
	return o
}

// undo does not continue next to olm-operator that another client started, as long as something is not given back.
func TestUndoWhileOLMRuns(t *testing.T) {
	const scaled = "kubectl scale -n olm-operator deployment/olm-operator --replicas=0"
	for name, test := range map[string]struct {
		csv      CSV
		scaledBy string
		options  Options
		blocked  []string // texts of the message; none if it is not blocked
	}{
		"adopted":                    {csvNamed("a", Held, FormAdopted), "", someOptions, []string{"Deployment olm-operator/olm-operator runs", "shop/a", scaled, "--accept shop/a"}},
		"converged":                  {converged(""), "", someOptions, []string{scaled}},
		"labelled by hand":           {csvNamed("a", GivenBack, FormAdopted), "", someOptions, []string{scaled}},
		"scaled by another client":   {csvNamed("a", Held, FormAdopted), "Argo CD", someOptions, []string{"Argo CD would scale it up again", scaled}},
		"accepted":                   {csvNamed("a", GivenBack, "GivingBack"), "", accepting("a"), nil},
		"given back":                 {csvNamed("a", GivenBack, FormGivenBack), "", someOptions, nil},
		"given back, label removed":  {csvNamed("a", "", FormGivenBack), "", someOptions, nil},
		"never adopted":              {csvNamed("a", GivenBack, ""), "", someOptions, nil},
		"olm-operator installed it":  {csvNamed("a", "", ""), "", someOptions, nil},
		"an order of an earlier run": {csvNamed("a", Held, ""), "", someOptions, nil},
		"a label after the return":   {csvNamed("a", Held, FormGivenBack), "", someOptions, nil},
		"no WebhookRollout":          {withoutRollout(""), "", someOptions, []string{scaled}},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(1, 2, test.csv)
			s.OLM.ScaledBy = test.scaledBy
			d := Undo(test.options)(s, time.Time{})
			installtest.Same(t, "it is blocked", len(test.blocked) > 0, d.Blocked != "")
			installtest.Contains(t, d.Blocked, test.blocked...)
		})
	}
}

// failing has a CSV that the manager cannot give back, and one that it can.
func failing() *Snapshot {
	a := csvNamed("a", GiveBack, formGivingBack)
	a.Phase, a.Cause, a.Report.Message = "Failed", "a CRD is missing", "its phase is Failed"
	return snapshot(0, 2, a, csvNamed("b", GivenBack, FormGivenBack))
}

func TestUndoOfAFailedCSV(t *testing.T) {
	d := Undo(someOptions)(failing(), time.Time{})
	installtest.Contains(t, d.Wait, "the manager gives back shop/a", "its phase is Failed", "which is Failed: a CRD is missing", "--accept shop/a")

	s := failing()
	var all []string
	for range 9 { // No write makes it Succeeded.
		for _, w := range Undo(accepting("a"))(s, time.Time{}).Writes {
			s.Apply(w)
			all = append(all, texts([]Write{w})...)
		}
		s.OLM.Available, s.OLM.AvailableSince, s.OLM.Pods, s.Manager.Pods = s.OLM.Replicas, time.Time{}.Add(-time.Hour), nil, nil
	}
	installtest.Same(t, "writes", []string{
		"label ClusterServiceVersion shop/a=given-back", "scale Deployment manager/manager=0", "scale Deployment olm-operator/olm-operator=1",
		"label ClusterServiceVersion shop/a=", "label ClusterServiceVersion shop/b=", "delete WebhookRollout shop/a=", "delete WebhookRollout shop/b=",
	}, all)
}

// An accepted CSV is given back completely if the manager can do it, and the work on others ends first.
func TestAcceptedLast(t *testing.T) {
	o := accepting("a")
	failed := csvNamed("a", GiveBack, formGivingBack)
	failed.Phase = "Pending"
	installtest.Same(t, "failed", []string{"label ClusterServiceVersion shop/a=given-back"}, texts(Undo(o)(snapshot(0, 2, failed), time.Time{}).Writes))
	failed.Report = Report{Form: FormAdopted}
	installtest.Contains(t, Undo(o)(snapshot(0, 2, failed), time.Time{}).Wait, "shop/a")
	for name, test := range map[string]struct {
		a    CSV
		want string
		wait string
	}{
		"not begun":     {csvNamed("a", Held, FormAdopted), "label ClusterServiceVersion shop/a=give-back", ""},
		"no report yet": {csvNamed("a", GiveBack, FormAdopted), "", "shop/a"},
		"in progress":   {csvNamed("a", GiveBack, formGivingBack), "", "shop/b"},
		"given back":    {csvNamed("a", GiveBack, FormGivenBack), "label ClusterServiceVersion shop/a=given-back", ""},
	} {
		d := Undo(o)(snapshot(0, 2, test.a, csvNamed("b", GiveBack, formGivingBack)), time.Time{})
		if test.want != "" {
			installtest.Same(t, name, []string{test.want}, texts(d.Writes))
		}
		installtest.Contains(t, d.Wait, test.wait)
	}
}

// A name is checked once, before undo begins: an accepted CSV may be deleted while it runs.
func TestUndoOfAnAcceptedCSVThatIsDeleted(t *testing.T) {
	installtest.Contains(t, failing().Unknown(accepting("c").Accepted).Blocked, "ClusterServiceVersion shop/c does not exist")
	d := Undo(accepting("c"))(snapshot(0, 0, csvNamed("a", GivenBack, FormGivenBack)), time.Time{})
	installtest.Same(t, "what undo does", []string{"scale Deployment olm-operator/olm-operator=1"}, texts(d.Writes))
}

// A CustomResourceDefinition that is held keeps undo waiting, except for that of accepted CSVs.
func TestUndoOfAHeldDefinition(t *testing.T) {
	converter := CSV{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "x"}, Phase: "Failed", HasRollout: true}
	s := snapshot(0, 2, csvNamed("a", Held, FormAdopted), converter)
	s.HeldDefinitions = []HeldDefinition{{"engines.example.com", []types.NamespacedName{converter.NamespacedName}}}
	installtest.Contains(t, Undo(someOptions)(s, time.Time{}).Wait, "engines.example.com", "a webhook of shop/x converts", "--accept shop/x")
	installtest.Same(t, "accepted", []string{"label ClusterServiceVersion shop/a=give-back"}, texts(Undo(accepting("x"))(s, time.Time{}).Writes))
	s.HeldDefinitions[0].CSVs = nil
	installtest.Contains(t, Undo(accepting("x"))(s, time.Time{}).Wait, "a webhook of a new operator converts")
}

// undo does not restart pods for annotations of a CSV, unless that is accepted.
func TestUndoThatRestartsPods(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*CSV)
		options Options
		blocked bool
	}{
		"adopted":           {func(*CSV) {}, someOptions, true},
		"restarts accepted": {func(*CSV) {}, Options{Concurrency: 1, AcceptRestarts: true}, false},
		"the CSV accepted":  {func(*CSV) {}, accepting("a"), false},
		"no pods":           {func(c *CSV) { c.Deployments[0].Replicas = 0 }, someOptions, false},
		"never adopted":     {func(c *CSV) { c.Order, c.HasRollout, c.Report = GivenBack, false, Report{} }, someOptions, false},
		"given back":        {func(c *CSV) { c.Order, c.Report.Form = GivenBack, FormGivenBack }, someOptions, false},
	} {
		a := csvNamed("a", Held, FormAdopted)
		a.Deployments[0].Lacked = []string{"example.com/a"}
		test.change(&a)
		d := Undo(test.options)(snapshot(0, 2, a), time.Time{})
		installtest.Same(t, name+": blocked", test.blocked, d.Blocked != "")
		if test.blocked {
			installtest.Contains(t, d.Blocked, "shop/server (example.com/a)", "--accept-restarts")
		}
	}
}

// The report of an earlier return is not that of this one.
func TestUndoAwaitsAReport(t *testing.T) {
	s := snapshot(0, 2, csvNamed("a", Held, FormGivenBack), csvNamed("b", GivenBack, FormGivenBack))
	installtest.Contains(t, Undo(someOptions)(s, time.Time{}).Wait, "the manager has not reported shop/a", "--accept shop/a")
	installtest.Same(t, "accepted", []string{"label ClusterServiceVersion shop/a=give-back"}, texts(Undo(accepting("a"))(s, time.Time{}).Writes))
}
