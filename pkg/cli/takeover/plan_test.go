package takeover

import (
	"bytes"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/output"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// stopOLM has olm-operator stopped.
func (s *Snapshot) stopOLM() { s.OLM.Replicas, s.OLM.Pods, s.OLM.Available = 0, nil, 0 }

// begin has olm-operator stopped, and the second CSV adopted.
func (s *Snapshot) begin() {
	s.stopOLM()
	s.CSVs[1].Order, s.CSVs[1].HasRollout, s.CSVs[1].Report.Form = Held, true, FormAdopted
}

func TestBlockers(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Snapshot)
		want   string // the only code
	}{
		"nothing":                           {func(*Snapshot) {}, ""},
		"no olm-operator":                   {func(s *Snapshot) { s.OLM = nil }, "OLMMissing"},
		"no kind":                           {func(s *Snapshot) { s.NoRollouts = true }, "KindMissing"},
		"no manager":                        {func(s *Snapshot) { s.Manager = nil }, "ManagerMissing"},
		"the manager runs":                  {func(s *Snapshot) { s.Manager.Replicas = 1 }, "TwoManagers"},
		"another manager":                   {func(s *Snapshot) { s.OtherManagers = []types.NamespacedName{{Namespace: "a", Name: "b"}} }, "TwoManagers"},
		"the manager without OLM":           {func(s *Snapshot) { s.Manager.Args = []string{"run"} }, "ManagerWithoutOLM"},
		"a limited manager":                 {func(s *Snapshot) { s.Manager.Args = []string{"run", "--with-olm", "--namespaces=shop"} }, "ManagerLimited"},
		"an unknown version":                {func(s *Snapshot) { s.OLMVersion = "" }, "OLMVersionUnknown"},
		"an old version":                    {func(s *Snapshot) { s.OLMVersion = "v0.27.9" }, "OLMVersionTooOld"},
		"the oldest version":                {func(s *Snapshot) { s.OLMVersion = OldestOLM }, ""},
		"another client scales":             {func(s *Snapshot) { s.OLM.ScaledBy = "Argo CD" }, "OLMScaledByOthers"},
		"another client scales the manager": {func(s *Snapshot) { s.Manager.ScaledBy = "Argo CD" }, "ManagerScaledByOthers"},
		"a failed CSV":                      {func(s *Snapshot) { s.CSVs[0].Phase = "Failed" }, "CSVNotSucceeded"},
		"a webhook without a pod":           {func(s *Snapshot) { s.CSVs[0].Problems = []Problem{{"v", "NoReadyEndpoints", "m"}} }, "WebhookNotServing"},
		"an untrusted certificate":          {func(s *Snapshot) { s.CSVs[0].Problems = []Problem{{"v", "ForeignCertificate", "m"}} }, "CertificateNotTrusted"},
		"an edited Deployment":              {func(s *Snapshot) { s.CSVs[0].Deployments[0].EditedBy = []string{"kubectl-edit"} }, "HandEdited"},
		"a removed field":                   {func(s *Snapshot) { s.CSVs[0].Deployments[0].Reverted = []string{"spec.template.spec.nodeName"} }, "HandEdited"},
		"an edited registration": {func(s *Snapshot) {
			s.CSVs[0].EditedRegistrations = []Edit{{Object{Name: "v"}, []string{"kubectl-edit"}}}
		}, "HandEdited"},
		"an edited Service": {func(s *Snapshot) {
			s.CSVs[0].Reverted = []Reverted{{Object{"Service", "shop", "server-service"}, []string{"spec.ports"}}}
		}, "HandEdited"},
		"another form":                                               {func(s *Snapshot) { s.CSVs[0].Deployments[0].OtherForm = true }, "OtherForm"},
		"a missing permission":                                       {func(s *Snapshot) { s.Missing = []Permission{{"patch", "deployments/scale.apps", "olm"}} }, "PermissionMissing"},
		"a failed CSV during a run":                                  {func(s *Snapshot) { s.begin(); s.CSVs[0].Phase = "Failed" }, ""},
		"an edited Deployment during a run":                          {func(s *Snapshot) { s.begin(); s.CSVs[0].Deployments[0].EditedBy = []string{"kubectl-edit"} }, "HandEdited"},
		"an edited Deployment of what is adopted":                    {func(s *Snapshot) { s.begin(); s.CSVs[1].Deployments[0].EditedBy = []string{"kubectl-edit"} }, ""},
		"a failed CSV, and a label after olm-operator has stopped":   {func(s *Snapshot) { s.stopOLM(); s.CSVs[0].Phase, s.CSVs[1].Order = "Failed", GivenBack }, "CSVNotSucceeded"},
		"another form, and a label after olm-operator has stopped":   {func(s *Snapshot) { s.stopOLM(); s.CSVs[0].Deployments[0].OtherForm, s.CSVs[1].Order = true, Held }, "OtherForm"},
		"an old version, and a label after olm-operator has stopped": {func(s *Snapshot) { s.stopOLM(); s.OLMVersion, s.CSVs[1].Order = "v0.20.0", GivenBack }, "OLMVersionTooOld"},
		"a failed CSV, and a label while olm-operator runs":          {func(s *Snapshot) { s.CSVs[0].Phase, s.CSVs[1].Order = "Failed", GivenBack }, "CSVNotSucceeded"},
		"a failed CSV, and a label while olm-operator ends":          {func(s *Snapshot) { s.OLM.Replicas, s.CSVs[0].Phase, s.CSVs[1].Order = 0, "Failed", GivenBack }, "CSVNotSucceeded"},
		"an old version, and a label while olm-operator runs":        {func(s *Snapshot) { s.OLMVersion, s.CSVs[1].Order = "v0.20.0", Held }, "OLMVersionTooOld"},
		"another client scales, and a label of an unknown meaning":   {func(s *Snapshot) { s.OLM.ScaledBy, s.CSVs[1].Order = "Argo CD", "later" }, "OLMScaledByOthers"},
		"a failed CSV, and olm-operator stopped by the user":         {func(s *Snapshot) { s.OLM.Replicas, s.OLM.Pods, s.CSVs[0].Phase = 0, nil, "Failed" }, "CSVNotSucceeded"},
		"another client scales the manager, which runs":              {func(s *Snapshot) { s.stopOLM(); s.Manager.Replicas, s.Manager.ScaledBy = 2, "Argo CD" }, ""},
		"stopped by the user":                                        {func(s *Snapshot) { s.OLM.Replicas, s.OLM.Pods, s.OLM.ScaledBy = 0, nil, "Argo CD" }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := withOLM()
			test.change(s)
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			installtest.Same(t, "codes", want, lists.Map(s.Blockers(false), func(b Blocker) string {
				installtest.Same(t, "it has a message and a remedy", true, b.Message != "" && b.Remedy != "")
				return b.Code
			}))
		})
	}
	s := withOLM()
	s.CSVs[0].Deployments[0].EditedBy = []string{"kubectl-edit"}
	installtest.None(t, "blockers if edits are accepted", s.Blockers(true))
}

func TestPlanOf(t *testing.T) {
	s := withOLM()
	s.CSVs[0].Changes = []Change{{Object{"Secret", "shop", "server-service-cert"}, whatCertificate, DuringRun, false}}
	s.CSVs[0].Objects = []Object{{KindDeployment, "shop", "server"}, {"Secret", "shop", "server-service-cert"}, {"ValidatingWebhookConfiguration", "", "v-x"}}
	p := PlanOf(s, someOptions, false, time.Second, []string{"the metrics"})
	installtest.Same(t, "state of the snapshot after the plan", WithOLM, s.StateOf(s.CSVs[0]))
	during := lists.Filter(p.CSVs[0].Changes, func(c Change) bool { return c.When == DuringRun && c.RestartsPods })
	installtest.None(t, "changes of run that restart pods", during)
	var out bytes.Buffer
	p.Print(output.New(&out))
	installtest.Contains(t, out.String(),
		"shop/a (WithOLM)", "adopted as they are: Deployment shop/server, Secret shop/server-service-cert, ValidatingWebhookConfiguration v-x",
		"DuringRun: Secret shop/server-service-cert: the key ca.crt", "; no pod restarts",
		"AtNextRollout: Deployment shop/server: the pod template gets", "; pods restart",
		"- label ClusterServiceVersion shop/a olm-webhook-manager.io/takeover=given-back", "- scale Deployment olm-operator/olm-operator to 0",
		"Pods that restart during the run: none. Estimated time: 1m5s", "Not checked: the metrics", "Nothing blocks the takeover.")
	s.CSVs[0].Deployments[0].OtherForm = true
	installtest.Same(t, "what restarts", "Deployment shop/server", PlanOf(s, someOptions, true, 0, nil).restarted())
	installtest.Same(t, "title", "2 ClusterServiceVersions, 6 writes", p.Title())
}

func TestEditorsOf(t *testing.T) {
	entry := func(manager, subresource, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	for name, test := range map[string]struct {
		entry metav1.ManagedFieldsEntry
		want  []string
	}{
		"olm-operator":                      {entry("olm", "", `{"f:spec":{"f:template":{}}}`), nil},
		"its own name":                      {entry("olm-operator", "", `{"f:spec":{"f:template":{}}}`), nil},
		"a user":                            {entry("kubectl-edit", "", `{"f:spec":{"f:template":{}}}`), []string{"kubectl-edit"}},
		"metadata":                          {entry("kubectl-label", "", `{"f:metadata":{}}`), nil},
		"replicas":                          {entry("kubectl", "", `{"f:spec":{"f:replicas":{}}}`), nil},
		"a restart":                         {entry("kubectl-rollout", "", `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/restartedAt":{}}}}}}`), nil},
		"a restart, and another annotation": {entry("kubectl-rollout", "", `{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:a":{},"f:kubectl.kubernetes.io/restartedAt":{}}}}}}`), []string{"kubectl-rollout"}},
		"a pause":                           {entry("kubectl", "", `{"f:spec":{"f:paused":{}}}`), nil},
		"the status":                        {entry("kube-controller-manager", "status", `{"f:spec":{"f:template":{}}}`), nil},
		"no field is known":                 {metav1.ManagedFieldsEntry{Manager: "a"}, nil},
	} {
		installtest.Same(t, name, test.want, EditorsOf([]metav1.ManagedFieldsEntry{test.entry}, "f:spec"))
	}
}

// Only calls that did not fail before the first change count. An API server that restarts begins with 0.
func TestWatcher(t *testing.T) {
	reading := func(counts map[string]float64, problems map[string]string) Reading {
		return Reading{Servers: map[string]Calls{"a": {Failed: counts}}, Problems: problems}
	}
	w := NewWatcher(reading(map[string]float64{"old": 1, "v": 7}, nil), reading(map[string]float64{"old": 2, "v": 7}, map[string]string{"broken": "m"}), nil)
	installtest.None(t, "what failed before", w.Failures(reading(map[string]float64{"old": 9, "v": 7}, map[string]string{"broken": "m"})))
	installtest.Same(t, "a failed call, and a problem", []string{"2 calls of webhook v failed", "other: no endpoint"},
		w.Failures(reading(map[string]float64{"old": 9, "v": 9}, map[string]string{"other": "no endpoint"})))
	installtest.Same(t, "a failed call after a restart of the API server", []string{"1 calls of webhook v failed"}, w.Failures(reading(map[string]float64{"v": 1}, nil)))
	installtest.Same(t, "the first call that fails", []string{"1 calls of webhook new failed"}, w.Failures(reading(map[string]float64{"v": 1, "new": 1}, nil)))
	installtest.None(t, "while the API server cannot be read", w.Failures(Reading{}))
	installtest.Same(t, "calls that failed in the meantime", []string{"3 calls of webhook v failed"}, w.Failures(reading(map[string]float64{"v": 4, "new": 1}, nil)))
}

// The first reading of an API server after the first change is what later ones are compared with.
func TestWatcherOfAnotherServer(t *testing.T) {
	w := NewWatcher(Reading{Servers: map[string]Calls{"a": {Failed: map[string]float64{"v": 1}}}}, Reading{}, nil)
	both := func(a, b float64) Reading {
		return Reading{Servers: map[string]Calls{"a": {Failed: map[string]float64{"v": a}}, "b": {Failed: map[string]float64{"v": b}}}}
	}
	installtest.Same(t, "since the first of two readings", []string{"1 calls of webhook v failed"}, w.Failures(both(2, 5)))
	installtest.Same(t, "since the server is known", []string{"2 calls of webhook v failed"}, w.Failures(both(2, 7)))
}

// The start of its process identifies an API server behind a load balancer, and its name has it. One that started after the
// first reading counts from 0. What an older one counted before it was read is not known.
func TestWatcherBehindALoadBalancer(t *testing.T) {
	begin := time.Unix(1000, 0)
	const clock = -time.Hour // of the API servers
	reading := func(at int, server string, started int, failed float64) Reading {
		now := begin.Add(time.Duration(at) * time.Second)
		return Reading{At: now, Servers: map[string]Calls{server: {
			Started: begin.Add(time.Duration(started)*time.Second + clock), Read: now.Add(clock), Failed: map[string]float64{"v": failed},
		}}}
	}
	w := NewWatcher(reading(0, "a", -500, 7), reading(10, "b", -400, 3), nil)
	for _, test := range []struct {
		name string
		now  Reading
		want []string
	}{
		{"the first answer of an old one", reading(20, "c", -300, 9), nil},
		{"an answer without a change", reading(30, "a", -500, 7), nil},
		{"an answer with a change", reading(40, "b", -400, 5), []string{"2 calls of webhook v failed"}},
		{"the first answer of a new one", reading(50, "d", 30, 4), []string{"4 calls of webhook v failed"}},
		{"one that started just before the first reading", reading(60, "e", -1, 6), nil},
		{"the old one again", reading(70, "c", -300, 10), []string{"1 calls of webhook v failed"}},
	} {
		installtest.Same(t, test.name, test.want, w.Failures(test.now))
	}
}

func TestSlowest(t *testing.T) {
	before := Reading{Servers: map[string]Calls{"a": {Count: map[string]float64{"v": 1}, Seconds: map[string]float64{"v": 1}}}}
	after := Reading{Servers: map[string]Calls{"a": {Count: map[string]float64{"v": 3, "m": 1}, Seconds: map[string]float64{"v": 2, "m": 3}}}}
	w := NewWatcher(Reading{}, before, nil)
	w.Failures(after)
	w.Failures(Reading{}) // The API server cannot be read any more.
	webhook, mean, calls := w.Slowest()
	installtest.Same(t, "webhook", "m", webhook)
	installtest.Same(t, "mean", 3, mean)
	installtest.Same(t, "calls", 3, calls)
}

func TestProblemsOf(t *testing.T) {
	s := takenOver()
	s.CSVs[0].Problems = []Problem{{"v", "NoReadyEndpoints", "no endpoint"}}
	installtest.Same(t, "problems", map[string]string{"v": "no endpoint"}, ProblemsOf(s))
	s.CSVs[0].Order, s.CSVs[0].Deployments[0].Recreate = Converge, true
	installtest.Same(t, "problems of a Deployment that is recreated", map[string]string{}, ProblemsOf(s))
}
