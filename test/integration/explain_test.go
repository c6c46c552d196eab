package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor/explain"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

const (
	explainedRounds   = 4 // each with other webhooks and policies
	explainedRequests = 50
	spareRequests     = 30 // instead of those about which the command cannot know everything
)

// What doctor explain predicts of generated requests is what the audit log, the webhooks and the answers of the API server show.
// It can run once on an API server, which loses its cache of ConfigMaps as parameters when no binding uses it any more:
// https://github.com/kubernetes/kubernetes/issues/130887
func TestExplainEqualsTheAuditLog(t *testing.T) {
	e := newEnv(t) // alone: the indexes of the audit log count the webhooks of all tests
	g := newGenerator(e)
	requests := g.requests(explainedRounds * (explainedRequests + spareRequests))
	seen := map[explain.Verdict]int{}
	for round := range explainedRounds {
		g.register(round)
		reader := installtest.OrPanic(clusterpkg.New(cluster.Config()))
		snapshot := installtest.OrPanic(reader.Admission(e.ctx))
		dump := dumped(e, snapshot)
		place := auditEnd(e)
		var all []attempted
		for i := 0; len(all) < explainedRequests; i++ {
			if len(requests) == 0 {
				t.Fatalf("in round %d, %d requests were compared: too many were left out", round, len(all))
			}
			r := requests[0]
			requests = requests[1:]
			r.resolve(e, reader, snapshot)
			explanation := installtest.OrPanic(reader.Explain(e.ctx, snapshot, r.Request))
			if explanation.Count(explain.Unknown) > 0 && dependsOnGeneratedFields(r, explanation.Steps) {
				continue
			}
			for _, s := range explanation.Steps {
				seen[s.Verdict]++
			}
			if explanation.Count(explain.Unknown) > 0 {
				t.Errorf("%s: an unknown step: %+v", r.name, explanation.Steps)
			}
			if i%5 == 0 {
				same(t, "the explanation from a dump", installtest.OrPanic(reader.Explain(e.ctx, dump, r.Request)), explanation)
			}
			all = append(all, attempted{r, explanation.Steps, g.send(r)})
		}
		compare(e, all, cluster.Audit.Requests(t, cluster.Config(), place))
	}
	for _, verdict := range []explain.Verdict{explain.Sees, explain.Skipped, explain.Refuses, explain.NotReached} {
		if seen[verdict] < 20 {
			t.Errorf("only %d steps are %s: this shows little", seen[verdict], verdict)
		}
	}
}

// dependsOnGeneratedFields reports whether no step is unknown for another reason than a field that the API server generates.
func dependsOnGeneratedFields(r generated, steps []explain.Step) bool {
	return !slices.ContainsFunc(steps, func(s explain.Step) bool {
		aboutName := r.Object.GetGenerateName() != "" && (strings.Contains(s.Reason, "depends on object.metadata.name") || strings.Contains(s.Reason, "depends on request.name"))
		return s.Verdict == explain.Unknown && !aboutName && !strings.Contains(s.Reason, "depends on object.metadata.generation")
	})
}

// attempted is a request with its prediction and what the webhooks and the answer of the API server show.
type attempted struct {
	request   generated
	predicted []explain.Step
	observed  observed
}

type observed struct {
	calls []string // mutating webhooks in their order, then validating webhooks
	err   error
	// evaluated are the mutating policies that left their mark on the object; nil if there is no answer with the object.
	evaluated []string
}

func compare(e *env, all []attempted, events []auditv1.Event) {
	e.Helper()
	byAgent := map[string]auditv1.Event{}
	for _, event := range events {
		byAgent[event.UserAgent] = event
	}
	for _, a := range all {
		want := expected(a.predicted)
		event, logged := byAgent[a.request.userAgent(e)]
		if !logged {
			e.Errorf("%s is not in the audit log: %v", a.request.name, a.observed.err)
			continue
		}
		what := fmt.Sprintf("%s %s %s by %s: ", a.request.Operation, a.request.Resource.GroupVersionResource, a.request.name, a.request.User.Name)
		same(e, what+"annotations in the audit log", marks(event.Annotations), want.annotations)
		same(e, what+"calls", a.observed.calls, want.calls)
		same(e, fmt.Sprintf("%srefused (%v)", what, a.observed.err), a.observed.err != nil, want.refused)
		if a.observed.evaluated != nil {
			same(e, what+"mutating policies", a.observed.evaluated, want.evaluated)
		}
		if e.Failed() {
			e.Fatalf("%s: predicted %s", what, installtest.OrPanic(json.MarshalIndent(a.predicted, "", " ")))
		}
	}
}

type expectation struct {
	annotations map[string]string
	calls       []string
	evaluated   []string
	refused     bool
}

// expected is what the steps mean for the audit log: the servers of some webhooks fail.
func expected(steps []explain.Step) expectation {
	want := expectation{annotations: map[string]string{}, calls: []string{}, evaluated: []string{}}
	var validating []string
	params := map[string][]string{}
	for _, s := range steps {
		want.refused = want.refused || s.Verdict == explain.Refuses
		if s.Verdict != explain.Sees {
			continue
		}
		switch s.Kind {
		case explain.MutatingPolicy:
			want.evaluated = append(want.evaluated, s.Object+":"+s.Param)
		case explain.ValidatingPolicy:
			params[s.Object] = append(params[s.Object], "seen:"+s.Param)
		case explain.MutatingWebhook:
			want.calls = append(want.calls, s.Name)
			want.annotations[fmt.Sprintf("mutation.webhook.admission.k8s.io/round_0_index_%d", *s.Index)] = s.Object + " " + s.Name
		case explain.ValidatingWebhook:
			validating = append(validating, s.Name)
		}
		if ended := want.failure(s); ended {
			break
		}
	}
	for policy, names := range params {
		slices.Sort(names)
		want.annotations[policy+"/seen"] = strings.Join(slices.Compact(names), ", ")
	}
	slices.Sort(validating)
	slices.Sort(want.evaluated)
	want.calls = append(want.calls, validating...)
	return want
}

// failure adds what follows if the server of a webhook fails. It reports whether no later step is reached.
func (want *expectation) failure(s explain.Step) (ended bool) {
	if !strings.HasPrefix(s.Name, failing) {
		return false
	}
	if strings.HasPrefix(s.OnFailure, "failurePolicy Fail: without an answer the request is refused") {
		want.refused = true
		return s.Kind == explain.MutatingWebhook
	}
	kind := map[string]string{explain.MutatingWebhook: "mutation", explain.ValidatingWebhook: "validating"}[s.Kind]
	want.annotations[fmt.Sprintf("failed-open.%s.webhook.admission.k8s.io/round_0_index_%d", kind, *s.Index)] = s.Name
	return false
}

// marks are the annotations that webhooks and the policies of the test leave.
func marks(annotations map[string]string) map[string]string {
	found := map[string]string{}
	for key, value := range annotations {
		switch {
		case strings.HasPrefix(key, "mutation.webhook."):
			var called struct{ Configuration, Webhook string }
			if json.Unmarshal([]byte(value), &called) == nil {
				value = called.Configuration + " " + called.Webhook
			}
			found[key] = value
		case strings.HasPrefix(key, "failed-open."):
			found[key] = value
		case strings.HasSuffix(key, "/seen"):
			values := strings.Split(value, ", ")
			slices.Sort(values)
			found[key] = strings.Join(values, ", ")
		}
	}
	return found
}

// dumped returns the snapshot of the text that kubectl prints of its objects.
func dumped(e *env, s explain.Snapshot) explain.Snapshot {
	e.Helper()
	client := installtest.OrPanic(clusterpkg.Discovery(e.ctx, cluster.Config()))
	_, served, err := client.ServerGroupsAndResources()
	e.must(err)
	var text strings.Builder
	add := func(object any) { text.WriteString("---\n" + string(installtest.OrPanic(yaml.Marshal(object)))) }
	for _, list := range served {
		list.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}
		add(list)
	}
	items := lists.Map(s.Params, func(o unstructured.Unstructured) any { return o.Object })
	add(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	var dump explain.Snapshot
	for _, o := range installtest.OrPanic(explain.Objects([]byte(text.String()))) {
		e.must(dump.Add(o))
	}
	return dump
}
