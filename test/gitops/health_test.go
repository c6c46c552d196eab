package gitops

import (
	"os"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/runtime/cel"
	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The objects are what kubectl get shows, without what the checks do not read.
const (
	newCSV = `
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata: {name: shop.v1, namespace: shop, generation: 1}
`
	csvIn = newCSV + `
status: {lastUpdateTime: "2026-11-21T23:12:25Z", phase: PHASE, reason: InstallSucceeded, message: the message}
`
	newRollout = `
apiVersion: olm-webhook-manager.io/v1alpha1
kind: WebhookRollout
metadata: {name: shop.v1, namespace: shop, generation: 1}
`
	rolloutThatIs = newRollout + `
status:
  observedGeneration: 1
  conditions:
  - {type: Contested, status: "False", reason: NobodyElse, message: no other client}
  - {type: Ready, status: "STATUS", reason: Because, message: the message}
`
)

func of(template, placeholder, value string) string {
	return strings.ReplaceAll(template, placeholder, value)
}

func TestArgoCDHealth(t *testing.T) {
	const csv, rollout = "operators.coreos.com_ClusterServiceVersion", "olm-webhook-manager.io_WebhookRollout"
	for name, test := range map[string]struct{ kind, object, status, message string }{
		"a new CSV":                {csv, newCSV, "Progressing", "not reconciled yet"},
		"a CSV that is installing": {csv, of(csvIn, "PHASE", "Installing"), "Progressing", "the message"},
		"a CSV that succeeded":     {csv, of(csvIn, "PHASE", "Succeeded"), "Healthy", "the message"},
		"a CSV that failed":        {csv, of(csvIn, "PHASE", "Failed"), "Degraded", "the message"},
		"a new rollout":            {rollout, newRollout, "Progressing", "not reconciled yet"},
		"a rollout that waits":     {rollout, of(rolloutThatIs, "STATUS", "False"), "Progressing", "the message"},
		"a rollout that is ready":  {rollout, of(rolloutThatIs, "STATUS", "True"), "Healthy", "the message"},
	} {
		t.Run(name, func(t *testing.T) {
			script := block(t, "    resource.customizations.health."+test.kind+": |\n")
			status, message := health(t, script, decoded(t, test.object))
			if status != test.status || message != test.message {
				t.Errorf("it is %s (%s), want %s (%s)", status, message, test.status, test.message)
			}
		})
	}
}

// health runs a script as Argo CD does: the object is the global obj, what it returns is the health.
func health(t *testing.T, script string, object *unstructured.Unstructured) (status, message string) {
	t.Helper()
	state := lua.NewState()
	defer state.Close()
	state.SetGlobal("obj", inLua(state, object.Object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns a %s", state.Get(-1).Type())
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

func inLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, field := range value {
			table.RawSetString(key, inLua(state, field))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(inLua(state, item))
		}
		return table
	case string:
		return lua.LString(value)
	case bool:
		return lua.LBool(value)
	case float64:
		return lua.LNumber(value)
	case int64:
		return lua.LNumber(value)
	default:
		return lua.LNil
	}
}

func TestFluxHealth(t *testing.T) {
	checks := fluxChecks(t)
	for name, test := range map[string]struct{ object, want string }{
		"a CSV that is installing": {of(csvIn, "PHASE", "Installing"), "InProgress"},
		"a CSV that succeeded":     {of(csvIn, "PHASE", "Succeeded"), "Current"},
		"a CSV that failed":        {of(csvIn, "PHASE", "Failed"), "Failed"},
		"a CSV without a status":   {newCSV, "InProgress"},
	} {
		t.Run(name, func(t *testing.T) {
			object := decoded(t, test.object)
			check := checks[object.GetAPIVersion()+" "+object.GetKind()]
			if check == nil {
				t.Fatalf("no check for %s %s", object.GetAPIVersion(), object.GetKind())
			}
			// Flux waits while an expression cannot be evaluated, such as one about a missing status.
			if result, err := check.Evaluate(t.Context(), object); err == nil && string(result.Status) != test.want || err != nil && test.object != newCSV {
				t.Errorf("it is %v, %v, want %s", result, err, test.want)
			}
		})
	}
}

func fluxChecks(t *testing.T) map[string]*cel.StatusEvaluator {
	t.Helper()
	var guide struct {
		HealthCheckExprs []kustomize.CustomHealthCheck `json:"healthCheckExprs"`
		Wait             bool                          `json:"wait"`
	}
	if err := yaml.UnmarshalStrict([]byte(block(t, "    spec:\n")), &guide); err != nil {
		t.Fatal(err)
	}
	checks := map[string]*cel.StatusEvaluator{}
	for _, check := range guide.HealthCheckExprs {
		evaluator, err := cel.NewStatusEvaluator(&check.HealthCheckExpressions)
		if err != nil {
			t.Fatal(err)
		}
		checks[check.APIVersion+" "+check.Kind] = evaluator
	}
	return checks
}

func decoded(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

// block is what docs/admin/gitops.md has below a line, as far as it is indented more.
func block(t *testing.T, begins string) string {
	t.Helper()
	guide, err := os.ReadFile("../../docs/admin/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(guide), "\n"+begins)
	if !found {
		t.Fatalf("docs/admin/gitops.md has no %q", begins)
	}
	var lines strings.Builder
	for line := range strings.Lines(after) {
		if !strings.HasPrefix(line, "      ") {
			break
		}
		lines.WriteString(strings.TrimPrefix(line, "    "))
	}
	return lines.String()
}
