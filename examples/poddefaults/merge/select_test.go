package merge_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/merge"
	"github.com/olm-webhook-manager/olm-webhook-manager/examples/poddefaults/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestSelect(t *testing.T) {
	const (
		all     = `{metadata: {name: all, namespace: shop}, spec: {selector: {}}}`
		team    = `{metadata: {name: team, namespace: shop}, spec: {selector: {matchLabels: {team: web}}}}`
		notTest = `{metadata: {name: not-test, namespace: shop}, spec: {selector: {matchExpressions: [{key: stage, operator: NotIn, values: [test]}]}}}`
		bank    = `{metadata: {name: bank, namespace: bank}, spec: {selector: {}}}`
	)
	for name, test := range map[string]struct {
		pod  string
		want []string
	}{
		"an empty selector matches all pods":             {`metadata: {namespace: shop, labels: {stage: test}}`, []string{"all"}},
		"in the order of names":                          {`metadata: {namespace: shop, labels: {team: web, stage: prod}}`, []string{"all", "not-test", "team"}},
		"only of the pod's namespace":                    {`metadata: {namespace: bank}`, []string{"bank"}},
		"of the request's namespace where there is none": {`metadata: {labels: {stage: test}}`, []string{"all"}},
		"excluded":            {`metadata: {annotations: {poddefault.admission.kubeflow.org/exclude: "true"}}`, nil},
		"not excluded":        {`metadata: {labels: {stage: test}, annotations: {poddefault.admission.kubeflow.org/exclude: "yes"}}`, []string{"all"}},
		"mirror pods":         {`metadata: {annotations: {kubernetes.io/config.mirror: abc}}`, nil},
		"mirror pods of none": {`metadata: {annotations: {kubernetes.io/config.mirror: ""}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var selectable []*merge.Selectable
			for _, text := range []string{team, notTest, bank, all} {
				s, err := merge.Compile(parse[v1alpha1.PodDefault](t, text))
				installtest.Must(t, err)
				selectable = append(selectable, s)
			}
			var got []string
			for _, d := range merge.Select(parse[corev1.Pod](t, test.pod), "shop", selectable) {
				got = append(got, d.Name)
			}
			installtest.Same(t, "selected", test.want, got)
		})
	}
}

func TestCompileRefusesWhatCannotBeMatched(t *testing.T) {
	_, err := merge.Compile(parse[v1alpha1.PodDefault](t, `spec: {selector: {matchExpressions: [{key: team, operator: Like, values: [web]}]}}`))
	installtest.Same(t, "the error", `spec.selector: "Like" is not a valid label selector operator`, fmt.Sprint(err))
}
