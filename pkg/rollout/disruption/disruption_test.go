package disruption

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func limit(field, text string) policyv1.PodDisruptionBudgetSpec {
	parsed := intstr.Parse(text)
	if field == "maxUnavailable" {
		return policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &parsed}
	}
	return policyv1.PodDisruptionBudgetSpec{MinAvailable: &parsed}
}

// The limits of how many replicas block a drain. The numbers are those of the disruption controller, which rounds up.
func TestBlockedDrain(t *testing.T) {
	for name, test := range map[string]struct {
		budget    policyv1.PodDisruptionBudgetSpec
		blocked   []int32
		drainable []int32
	}{
		"no pod may be unavailable":  {limit("maxUnavailable", "0"), []int32{1, 2, 9}, []int32{0}},
		"none, as a percentage":      {limit("maxUnavailable", "0%"), []int32{1, 2, 9}, []int32{0}},
		"one pod may be unavailable": {limit("maxUnavailable", "1"), nil, []int32{0, 1, 2}},
		"a small percentage":         {limit("maxUnavailable", "1%"), nil, []int32{1, 2, 200}},
		"more than there are":        {limit("maxUnavailable", "9"), nil, []int32{1, 2}},
		"one must be available":      {limit("minAvailable", "1"), []int32{1}, []int32{0, 2, 3}},
		"three must be available":    {limit("minAvailable", "3"), []int32{1, 2, 3}, []int32{4}},
		"half must be available":     {limit("minAvailable", "50%"), []int32{1}, []int32{2, 3}},
		"most must be available":     {limit("minAvailable", "51%"), []int32{1, 2}, []int32{3}},
		"all must be available":      {limit("minAvailable", "100%"), []int32{1, 2, 9}, []int32{0}},
		"none must be available":     {limit("minAvailable", "0"), nil, []int32{1}},
		"no limit":                   {policyv1.PodDisruptionBudgetSpec{}, []int32{1, 2}, []int32{0}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range test.blocked {
				if Refusal(test.budget, Pods{Replicas: n}, nil) == "" {
					t.Errorf("it is not refused with %d replicas", n)
				}
			}
			for _, n := range test.drainable {
				installtest.Same(t, "the refusal", "", Refusal(test.budget, Pods{Replicas: n}, nil))
			}
		})
	}
	installtest.Same(t, "the message", "with spec.replicas 1 no pod could be evicted, and no node of the pods could be drained: add replicas, or lower the limit",
		Refusal(limit("minAvailable", "1"), Pods{Replicas: 1}, nil))
}

func TestSecondBudget(t *testing.T) {
	template, pod := labels.Set{"app": "shop"}, labels.Set{"app": "shop", "pod-template-hash": "x"}
	for name, test := range map[string]struct {
		selector *metav1.LabelSelector
		refused  bool
	}{
		"the same label":       {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop"}}, true},
		"another value":        {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "other"}}, false},
		"one label more":       {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "shop", "tier": "web"}}, false},
		"a label of a pod":     {&metav1.LabelSelector{MatchLabels: map[string]string{"pod-template-hash": "x"}}, true},
		"an expression":        {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}, true},
		"a negated expression": {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: metav1.LabelSelectorOpDoesNotExist}}}, true},
		"an empty selector":    {&metav1.LabelSelector{}, true},
		"no selector":          {nil, false},
		"an invalid selector":  {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: "Is"}}}, false},
	} {
		other := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "other"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: test.selector}}
		want := ""
		if test.refused {
			want = "PodDisruptionBudget other selects its pods, and API servers do not evict a pod that has two: delete the PodDisruptionBudget, or remove the annotation"
		}
		got := Refusal(limit("maxUnavailable", "1"), Pods{Replicas: 2, Labels: []labels.Set{template, pod}}, []*policyv1.PodDisruptionBudget{other})
		installtest.Same(t, name, want, got)
	}
}
