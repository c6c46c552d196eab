package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Labels and annotations are those of OLM v0: consoles and scripts find copies by them.
func TestMetadata(t *testing.T) {
	original := originalIn("operators")
	original.Finalizers = []string{"operators.coreos.com/csv-cleanup"}
	original.OwnerReferences = []metav1.OwnerReference{{Name: "owner"}}
	original.Labels = map[string]string{"olm.managed": "true", "operators.coreos.com/op.operators": "", "olm.copiedFrom": "elsewhere"}
	original.Annotations = map[string]string{
		"olm.operatorGroup": "global", "olm.operatorNamespace": "operators", "olm.targetNamespaces": "", "capabilities": "Basic Install",
		"kubectl.kubernetes.io/last-applied-configuration": "{}", "olm-webhook-manager.io/rotate-certificates": "1",
	}
	want := metav1.ObjectMeta{
		Name:        "op.v1",
		Labels:      map[string]string{"olm.managed": "true", "olm.copiedFrom": "operators"},
		Annotations: map[string]string{"olm.operatorGroup": "global", "olm.operatorNamespace": "operators", "capabilities": "Basic Install"},
	}
	installtest.Same(t, "metadata", want, Metadata(original))
	installtest.Same(t, "label of the original", "elsewhere", original.Labels["olm.copiedFrom"])
}

func TestStatus(t *testing.T) {
	original := originalIn("operators")
	original.Status.Conditions = []operatorsv1alpha1.ClusterServiceVersionCondition{{Phase: operatorsv1alpha1.CSVPhasePending}}
	want := original.Status
	want.Reason, want.Message = "Copied", "The operator is running in operators but is managing this namespace"
	installtest.Same(t, "status", want, Status(original))
	installtest.Same(t, "reason of the original", operatorsv1alpha1.CSVReasonInstallSuccessful, original.Status.Reason)
}

// The state is the same for what a cache keeps of an original as for the original, and differs for each part of a copy.
func TestStateOf(t *testing.T) {
	base := StateOf(originalIn("operators"))
	for name, test := range map[string]struct {
		change          func(csv *operatorsv1alpha1.ClusterServiceVersion)
		content, status bool
	}{
		"nothing":                 {func(*operatorsv1alpha1.ClusterServiceVersion) {}, true, true},
		"the resourceVersion":     {func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.ResourceVersion = "7" }, true, true},
		"what caches do not keep": {func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.Spec.Description = "long" }, true, true},
		"kubectl's annotation": {func(csv *operatorsv1alpha1.ClusterServiceVersion) {
			csv.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
		}, true, true},
		"the spec":                   {func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.Generation++ }, false, true},
		"an annotation":              {func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.Annotations = map[string]string{"a": "b"} }, false, true},
		"the namespace":              {func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.Namespace = "other" }, false, false},
		"the message, which differs": {func(csv *operatorsv1alpha1.ClusterServiceVersion) { csv.Status.Message = "other" }, true, true},
		"the phase": {func(csv *operatorsv1alpha1.ClusterServiceVersion) {
			csv.Status.Phase = operatorsv1alpha1.CSVPhaseFailed
		}, true, false},
		"the time of the last update": {func(csv *operatorsv1alpha1.ClusterServiceVersion) {
			csv.Status.LastUpdateTime = new(metav1.NewTime(noon))
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			csv := originalIn("operators")
			test.change(csv)
			got := StateOf(csv)
			installtest.Same(t, "content is the same", test.content, got.Content == base.Content)
			installtest.Same(t, "status is the same", test.status, got.Status == base.Status)
			installtest.Same(t, "state from its annotation", got, ParseState(got.String()))
		})
	}
}

// The words are those of OLM v0.
func TestCondition(t *testing.T) {
	for name, test := range map[string]struct {
		disabled, complete      bool
		status, reason, message string
	}{
		"enabled":           {false, true, "False", "CopiedCSVsEnabled", "Copied CSVs are enabled and present across the cluster"},
		"enabled, not yet":  {false, false, "False", "CopiedCSVsEnabled", "Copied CSVs are enabled and at least one copied CSVs is missing"},
		"disabled":          {true, true, "True", "CopiedCSVsDisabled", "Copied CSVs are disabled and no unexpected copied CSVs were found for operators installed in AllNamespace mode"},
		"disabled, not yet": {true, false, "False", "CopiedCSVsDisabled", "Copied CSVs are disabled and at least one unexpected copied CSV was found for an operator installed in AllNamespace mode"},
	} {
		t.Run(name, func(t *testing.T) {
			want := metav1.Condition{Type: "DisabledCopiedCSVs", Status: metav1.ConditionStatus(test.status), Reason: test.reason, Message: test.message}
			installtest.Same(t, "condition", want, Condition(test.disabled, test.complete))
		})
	}
}

// The time of the condition is that of its latest change of status.
func TestSetCondition(t *testing.T) {
	at := metav1.NewTime(noon)
	conditions, changed := SetCondition(nil, Condition(false, true), at)
	installtest.Same(t, "a first condition is a change", true, changed)
	later := metav1.NewTime(noon.Add(time.Hour))
	_, changed = SetCondition(conditions, Condition(false, true), later)
	installtest.Same(t, "the same condition is a change", false, changed)
	next, changed := SetCondition(conditions, Condition(false, false), later)
	installtest.Same(t, "another message is a change", true, changed)
	installtest.Same(t, "time of the same status", at, next[0].LastTransitionTime)
	next, _ = SetCondition(conditions, Condition(true, true), later)
	installtest.Same(t, "time of another status", later, next[0].LastTransitionTime)
}
