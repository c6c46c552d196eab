package bundle

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func TestRulesAreJudgedAsTheAPIServerDoes(t *testing.T) {
	e := newEnv(t)
	fields := map[string]string{"apiGroups": `[""]`, "apiVersions": "[v1]", "resources": "[namespaces]", "operations": "[CREATE, UPDATE]"}
	for field, lists := range map[string][]string{
		"apiGroups":   {"[]", `[""]`, "[apps, batch]", `["*"]`, `["*", apps]`, `["*", ""]`},
		"apiVersions": {"[]", "[v1, v2]", `["*"]`, `["*", v1]`, `[""]`},
		"operations":  {"[]", "[CREATE, CONNECT]", `["*"]`, `["*", CREATE]`, "[PATCH]", "[create]", `[""]`},
		"resources": {
			"[]", `[""]`, "[pods]", "[pods, pods/status]", "[pods, pods]", `["*"]`, `["*/*"]`, `["*", "*/*"]`, `["*/*", pods]`, `["*/*", "*/*"]`, `["*", pods]`, `[pods, "*"]`, `["*", pods, "*"]`, `["*", pods/status]`,
			`["*", pods, pods/status]`, "[pods/*]", "[pods, pods/*]", "[pods/*, pods/status]", "[pods/status, pods/*]", `["*/status", pods/status]`, `[pods/status, "*/status"]`, `["*/status", pods/log]`, "[pods/*, pods/*]",
		},
	} {
		for _, list := range lists {
			b := edited(t, proof{example: admission, edits: []string{field + ": " + fields[field], field + ": " + list}})
			err := e.register(t, first(b), "judged", nil, true)
			if err != nil && !apierrors.IsInvalid(err) {
				t.Errorf("%s: %s: %v", field, list, err)
			}
			if found := finds(b, "rule-incomplete"); found != (err != nil) {
				t.Errorf("%s: %s: found is %t, and the API server reports %v", field, list, found, err)
			}
		}
	}
}
