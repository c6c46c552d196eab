package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	auditcmd "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/audit"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cmd/exitcode"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// What several clients write before, during and after an opening is compared with their own list: without an audit log, the
// list misses nothing; with the log, it is exact, deleted objects included. The replay finds what the webhooks refuse or change.
func TestAuditEqualsTheLoad(t *testing.T) {
	for name, state := range map[string]managerv1alpha1.FailOpenState{"open for all": managerv1alpha1.FailOpenAll, "open for some": managerv1alpha1.FailOpenPartly} {
		t.Run(name, func(t *testing.T) { auditsTheLoad(t, state) })
	}
}

func auditsTheLoad(t *testing.T, state managerv1alpha1.FailOpenState) {
	e := newParallelEnv(t)
	place := auditEnd(e)
	o := newOpenable(e)
	l := newLoad(o, state)
	e.eventually("the webhooks answer", func() (bool, any) {
		err := o.probe()
		return err != nil && strings.Contains(err.Error(), "the mode is bad"), err
	})

	l.some(25)
	special := l.prepare()
	e.isLater(time.Now().Add(40 * time.Second)) // the opening could concern requests that began so long before
	o.opens(state)
	e.isLater(time.Now())
	l.now = during
	l.create("alpha", l.namespace, "object", false) // objects whose resource versions show that others are later
	l.create("alpha", l.namespace, "object", false)
	l.create("alpha", l.namespace, "object", false)
	l.create("alpha", l.namespace, "object", false)
	l.some(40)
	special.during(l)
	e.refusesReplay(o)
	e.isLater(time.Now())
	o.closes()
	e.isLater(time.Now().Add(7 * time.Second)) // clocks may differ by less
	l.now = after
	l.some(25)
	special.after(l)

	reader := installtest.OrPanic(clusterpkg.New(cluster.Config()))
	facts, admission, err := reader.Audit(e.ctx, metav1.NamespaceAll, []string{o.validating(), o.mutating()})
	e.must(err)
	l.compareMetadata(audit.List(facts), special)
	facts.Log = logSince(e, place)
	report := audit.List(facts)
	none(t, "notes", report.Notes)
	l.compareLog(report)

	versions := l.versions()
	e.must(reader.Replay(e.ctx, admission, &report))
	l.compareReplay(report)
	same(t, "resource versions after the replay", l.versions(), versions)
	e.runsCommand(o)
	l.replaysCreations(reader)
	same(t, "resource versions after further replays", l.versions(), versions)
}

// isLater waits until the second after a time has begun: metadata have a resolution of one second.
func (e *env) isLater(than time.Time) {
	e.Helper()
	next := than.Truncate(time.Second).Add(time.Second)
	e.eventually("it is later than "+than.Format(time.TimeOnly), func() (bool, any) { return time.Now().After(next), nil })
}

// specials are objects whose metadata hide a change.
type specials struct{ removed, stripped, backdated, hidden, finalized, deleted, unlisted *loaded }

// prepare creates them before the opening, in the namespace whose requests always pass.
func (l *load) prepare() *specials {
	l.Helper()
	create := func() *loaded { return l.create("beta", l.namespace, "special", false) }
	s := &specials{create(), create(), create(), create(), create(), create(), create()}
	l.edit(s.finalized, "beta", true, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{"example.com/keep"}) })
	return s
}

func (s *specials) during(l *load) {
	l.Helper()
	l.set(s.stripped, "alpha")
	l.set(s.backdated, "alpha")
	l.removeField(s.removed, "alpha")
	l.strip(s.stripped, "alpha")
	l.backdate(s.backdated, "alpha")
	l.set(s.hidden, "alpha")
	l.set(s.deleted, "alpha")
	l.remove(s.finalized, "alpha")
	s.finalized.deleted, s.finalized.later = never, true // A finalizer keeps it.
	s.finalized.stamps["the deletion"] = during
	for range 3 {
		l.create("beta", l.namespace, "object", true)
	}
	vanishing := l.create("beta", l.namespace, "object", false)
	l.remove(vanishing, "beta")
}

func (s *specials) after(l *load) {
	l.Helper()
	l.set(s.hidden, "alpha")
	l.remove(s.deleted, "alpha")
	l.create("alpha", l.namespace, "object", false)
	l.Cleanup(func() {
		patch := []byte(`{"metadata":{"finalizers":null}}`)
		_, _ = clientFor(l.any, s.finalized.Unstructured).Patch(l.T.Context(), s.finalized.GetName(), "application/merge-patch+json", patch, metav1.PatchOptions{})
	})
}

func nameIn(r *loaded) string { return r.GetKind() + " " + r.GetNamespace() + "/" + r.GetName() }

func nameOf(e audit.Entry) string {
	return map[string]string{"configmaps": "ConfigMap", "secrets": "Secret"}[e.Resource] + " " + e.Namespace + "/" + e.Name
}

func recordsNamed(all []*loaded, which func(*loaded) bool) []string {
	return lists.Sorted(lists.Map(lists.Filter(all, which), nameIn))
}

func entriesOf(r audit.Report, webhook string, which func(audit.Entry) bool) []string {
	return lists.Sorted(lists.Map(lists.Filter(r.Entries, func(e audit.Entry) bool { return e.Webhook == webhook && which(e) }), nameOf))
}

// compareMetadata checks a report without an audit log.
func (l *load) compareMetadata(r audit.Report, s *specials) {
	l.Helper()
	decided := func(r *loaded) bool { // Elsewhere, the user decides whether a request passed.
		return l.inScope(r.Unstructured) && (l.state == managerv1alpha1.FailOpenAll || r.GetNamespace() == l.namespace)
	}
	for _, webhook := range []string{l.validating(), l.mutating()} {
		same(l, webhook+": certain", entriesOf(r, webhook, func(e audit.Entry) bool { return e.Certainty == audit.Certain }),
			recordsNamed(l.all, func(r *loaded) bool { return r.exists() && r.certain(webhook == l.mutating()) && decided(r) }))
		listed := entriesOf(r, webhook, func(audit.Entry) bool { return true })
		for _, name := range recordsNamed(l.all, func(r *loaded) bool { return r.exists() && r.passed }) {
			if !slices.Contains(listed, name) {
				l.Errorf("%s: %s passed and is not listed", webhook, name)
			}
		}
		allowed := recordsNamed(l.all, func(r *loaded) bool { return r.exists() && r.later && l.inScope(r.Unstructured) })
		for _, name := range listed {
			if !slices.Contains(allowed, name) {
				l.Errorf("%s: %s is listed, and was not written since the opening", webhook, name)
			}
		}
	}
	l.compareReasons(r, s)
}

// compareReasons checks why an object is possible.
func (l *load) compareReasons(r audit.Report, s *specials) {
	l.Helper()
	for text, r2 := range map[string]*loaded{
		"the resource version shows a change since the opening began": s.removed, "managedFields is empty": s.stripped,
		"the resource version shows a change since the opening": s.backdated, "this hides its earlier changes": s.hidden,
	} {
		found := lists.Filter(r.Entries, func(e audit.Entry) bool { return e.Webhook == l.validating() && nameOf(e) == nameIn(r2) })
		if len(found) != 1 || !strings.Contains(found[0].Changes[0].Reason, text) {
			l.Errorf("%s: reason of %s: %+v", text, nameIn(r2), found)
		}
	}
}

// compareLog checks a report with an audit log.
func (l *load) compareLog(r audit.Report) {
	l.Helper()
	became := func(r *loaded) audit.State {
		switch r.deleted {
		case never:
			return audit.Exists
		case during:
			return audit.Deleted
		default:
			return audit.Vanished
		}
	}
	want := func(generated audit.Certainty) []string {
		return lists.Sorted(lists.Map(lists.Filter(l.all, func(r *loaded) bool { return r.passed }), func(r *loaded) string {
			certainty := audit.Certain
			if r.generated {
				certainty = generated
			}
			return fmt.Sprintf("%s %s %s", nameIn(r), became(r), certainty)
		}))
	}
	states := map[audit.State]int{}
	// A request without a name lets the condition of the mutating webhook fail.
	for webhook, generated := range map[string]audit.Certainty{l.validating(): audit.Certain, l.mutating(): audit.Possible} {
		var got []string
		for _, e := range r.Entries {
			if e.Webhook == webhook {
				states[e.State]++
				got = append(got, fmt.Sprintf("%s %s %s", nameOf(e), e.State, e.Certainty))
			}
		}
		same(l, webhook+": with the audit log", lists.Sorted(got), want(generated))
	}
	for _, state := range []audit.State{audit.Exists, audit.Deleted, audit.Vanished} {
		if states[state] < 2 {
			l.Errorf("only %d entries are %s: this shows little", states[state], state)
		}
	}
	for _, e := range r.Entries {
		for _, c := range e.Changes {
			if !slices.Contains(loadClients, c.User) {
				l.Errorf("%s: by user %q", nameOf(e), c.User)
			}
		}
	}
}

func logSince(e *env, place int64) *audit.Log {
	e.Helper()
	log := &audit.Log{}
	for _, event := range cluster.Audit.Requests(e, cluster.Config(), place) {
		e.must(log.Add(installtest.OrPanic(json.Marshal(event))))
	}
	return log
}

// compareReplay compares with what the server refuses and changes.
func (l *load) compareReplay(r audit.Report) {
	l.Helper()
	records := map[string]*loaded{}
	for _, one := range l.all {
		records[nameIn(one)] = one
	}
	count := map[audit.Result]int{}
	for _, e := range r.Entries {
		if e.State != audit.Exists {
			same(l, nameOf(e)+": a replay", e.Replay, nil)
			continue
		}
		one := records[nameOf(e)]
		want := audit.Admitted
		deletions := lists.Filter(e.Changes, func(c audit.Change) bool { return c.Operation == "DELETE" })
		switch {
		case e.Webhook == l.validating() && one.bad:
			want = audit.Refused
		case e.Webhook == l.mutating() && one.bad, len(deletions) > 0:
			want = audit.NotJudged // The validating webhook refuses the dry run of the mutating one, and deletions cannot be replayed.
		case e.Webhook == l.mutating() && !one.label:
			want = audit.Changed
		}
		count[e.Replay.Result]++
		if e.Replay.Result != want {
			l.Errorf("%s of %s: %s, want %s: %+v %+v", e.Webhook, nameOf(e), e.Replay.Result, want, e.Replay, e.Changes)
		}
		if want == audit.Changed && !strings.Contains(string(e.Replay.Patch), `"judged":"yes"`) {
			l.Errorf("%s: patch %s", nameOf(e), e.Replay.Patch)
		}
	}
	for _, result := range []audit.Result{audit.Refused, audit.Changed, audit.Admitted} {
		if count[result] < 3 {
			l.Errorf("only %d results are %s: this shows little", count[result], result)
		}
	}
}

// replaysCreations lets the mutating webhook see creations only: it gets copies with generated names.
func (l *load) replaysCreations(reader *clusterpkg.Cluster) {
	l.Helper()
	api := l.kube.AdmissionregistrationV1().MutatingWebhookConfigurations()
	m := kube.Get(l, api, "openable-"+l.namespace)
	m.Webhooks[0].MatchConditions, m.Webhooks[0].Rules[0].Operations = nil, []admissionregistrationv1.OperationType{admissionregistrationv1.Create}
	_, err := api.Update(l.ctx, m, metav1.UpdateOptions{})
	l.must(err)
	labelled := map[string]bool{}
	for _, r := range l.all {
		labelled[nameIn(r)] = r.label
	}
	l.eventually("copies are changed if the original lacks the label", func() (bool, any) {
		facts, admission, err := reader.Audit(l.ctx, metav1.NamespaceAll, []string{l.mutating()})
		l.must(err)
		report := audit.List(facts)
		l.must(reader.Replay(l.ctx, admission, &report))
		wrong := lists.Filter(report.Entries, func(e audit.Entry) bool {
			want := audit.Changed
			if labelled[nameOf(e)] {
				want = audit.Admitted
			}
			refused := strings.Contains(e.Replay.Message, "the mode is bad") // by the validating webhook
			return e.Replay.Result != want && !refused
		})
		return len(wrong) == 0 && report.Count(audit.Changed) > 3, fmt.Sprintf("%+v", wrong)
	})
}

// versions returns the resource versions of all objects of the load.
func (l *load) versions() []string {
	l.Helper()
	var all []string
	for _, resource := range []string{"configmaps", "secrets"} {
		for _, namespace := range l.spaces {
			list := installtest.OrPanic(l.any.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace(namespace).List(l.ctx, metav1.ListOptions{}))
			for _, o := range list.Items {
				all = append(all, resource+" "+namespace+"/"+o.GetName()+" "+o.GetResourceVersion())
			}
		}
	}
	return lists.Sorted(all)
}

func runAudit(e *env, args ...string) (said string, err error) {
	cmd := auditcmd.NewCommand()
	var out bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage = true
	cmd.SetArgs(append(args, "--kubeconfig", cluster.Kubeconfig))
	err = cmd.ExecuteContext(e.ctx)
	return out.String(), err
}

// refusesReplay runs the command while the webhooks are open.
func (e *env) refusesReplay(o *openable) {
	e.Helper()
	said, err := runAudit(e, "--replay", o.validating())
	installtest.Error(e, "is open: a dry run would pass without its answer", err)
	same(e, "exit code while open: "+said, exitcode.Of(e.ctx, err), 2)
}

// runsCommand runs the command of a user.
func (e *env) runsCommand(o *openable) {
	e.Helper()
	said, err := runAudit(e, "--replay", o.validating())
	installtest.Contains(e, said, "webhook "+o.validating()+" of "+o.namespace+"/operator.v1", "closed by Served", "OBJECT", "Refused: configmaps "+o.namespace+"/", "the mode is bad", "note: no audit log was given")
	same(e, "exit code", exitcode.Of(e.ctx, err), 2)
	said, err = runAudit(e, "-o", "json", o.validating())
	same(e, "exit code of a list", exitcode.Of(e.ctx, err), 0)
	var report audit.Report
	e.must(json.Unmarshal([]byte(said), &report))
	same(e, "objects are listed", len(report.Entries) > 10, true)
	_, err = runAudit(e, "unknown.example.com")
	installtest.Error(e, `no WebhookRollout reports an opening of webhook "unknown.example.com"`, err)
}
