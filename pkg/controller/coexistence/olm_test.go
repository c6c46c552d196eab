package coexistence

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The namespaces of a manager are read from the arguments of its Deployment. Other sources are unknown.
func TestLimitedTo(t *testing.T) {
	const variable = "deployment olm-webhook-manager/manager has the argument --namespaces=$(WATCHED)"
	for name, test := range map[string]struct {
		args    []string
		want    []string
		unknown string // the error
	}{
		"to nothing":                {args: []string{"run", "--lift-roles"}},
		"to one":                    {args: []string{"run", "--namespaces=shop"}, want: []string{"shop"}},
		"to two":                    {args: []string{"run", "--namespaces", "shop, yard", "--workers=4"}, want: []string{"shop", "yard"}},
		"by two flags":              {args: []string{"--namespaces=shop", "--namespaces=yard"}, want: []string{"shop", "yard"}},
		"by an empty flag":          {args: []string{"--namespaces="}},
		"by a variable":             {args: []string{"--namespaces=$(WATCHED)"}, unknown: variable},
		"another flag is no limit":  {args: []string{"--namespace=shop", "--leader-election-namespace=yard"}},
		"a value is no flag either": {args: []string{"--log-format", "namespaces=shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "olm-webhook-manager", Name: "manager"}}
			d.Spec.Template.Spec.Containers = []corev1.Container{{Args: test.args}}
			got, err := LimitedTo(d)
			installtest.Same(t, "namespaces", test.want, got)
			installtest.Error(t, test.unknown, err)
		})
	}
}
