package render

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestMatchConditions(t *testing.T) {
	for name, test := range map[string]struct {
		annotation string
		want       []string
	}{
		"none of the author's": {"", []string{"olm-webhook-manager.io/own-pods", "olm-webhook-manager.io/system-workloads"}},
		"one, in YAML": {"v.shop.example.com:\n- name: not-mine\n  expression: request.userInfo.username != 'me'\n",
			[]string{"olm-webhook-manager.io/own-pods", "olm-webhook-manager.io/system-workloads", "not-mine"}},
		"two, in JSON": {`{"v.shop.example.com": [{"name": "a", "expression": "true"}, {"name": "b", "expression": "true"}]}`,
			[]string{"olm-webhook-manager.io/own-pods", "olm-webhook-manager.io/system-workloads", "a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := inputOf(installtest.Conditioned(test.annotation))
			in.Manager = installtest.ManagerUser
			var got []string
			for _, c := range rendered(t, in).Webhooks[0].Validating.Webhooks[0].MatchConditions {
				got = append(got, c.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("conditions (-want +got):\n%s", diff)
			}
		})
	}
}
