package csvstatus

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

func TestWords(t *testing.T) {
	for message, want := range map[string]string{
		"one or more requirements couldn't be found":                                                    "one or more requirements couldn't be found",
		"one or more requirements couldn't be found: ServiceAccount x: Service account does not exist":  "one or more requirements couldn't be found",
		"webhook rules cannot include all groups: rules[0]; CSV contains repeated: x":                   "webhook rules cannot include all groups",
		"MultiNamespace InstallModeType not supported, cannot configure to watch 12 namespaces: change": "MultiNamespace InstallModeType not supported, cannot configure to watch 12 namespaces",
		"OwnNamespace InstallModeType not supported, cannot configure to watch own namespace: change":   "OwnNamespace InstallModeType not supported, cannot configure to watch own namespace",
		"install strategy failed: the API server refuses Deployment a/b: no":                            "install strategy failed: the API server refuses Deployment a/b: no",
		"installing: waiting for deployment x to become ready: no":                                      "installing: waiting for deployment x to become ready: no",
		"install timeout of another kind: x":                                                            "install timeout of another kind: x",
		"":                                                                                              "",
	} {
		if got := Words(message); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}

// The message is OLM's, the newest condition explains it, and a cause that changes is reported
// without another condition.
func TestSet(t *testing.T) {
	const pending, unmet = operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet
	var csv operatorsv1alpha1.ClusterServiceVersion
	at := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	for _, cause := range []string{"a", "b", "b"} {
		message := "one or more requirements couldn't be found: " + cause
		Set(&csv, pending, unmet, message, at)
		if got := csv.Status.Message; got != "one or more requirements couldn't be found" {
			t.Errorf("status.message is %q", got)
		}
		if got := Explained(csv.Status); got != message {
			t.Errorf("explained by %q, want %q", got, message)
		}
	}
	if n := len(csv.Status.Conditions); n != 1 {
		t.Errorf("%d conditions, want 1", n)
	}
}

// What another client wrote is not explained by what the manager wrote before.
func TestExplainedElsewhere(t *testing.T) {
	var csv operatorsv1alpha1.ClusterServiceVersion
	now := metav1.Now()
	if got := Explained(csv.Status); got != "" {
		t.Errorf("nothing is explained by %q", got)
	}
	Set(&csv, operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet, "one or more requirements couldn't be found: a", now)
	csv.Status.Phase, csv.Status.Message = operatorsv1alpha1.CSVPhaseFailed, "by hand"
	if got := Explained(csv.Status); got != "by hand" {
		t.Errorf("explained by %q", got)
	}
}

// A message that OLM v0 itself reports for a cause stays as it was first written.
func TestSetKeepsWhatWasSaidFirst(t *testing.T) {
	var csv operatorsv1alpha1.ClusterServiceVersion
	now := metav1.Now()
	for _, cause := range []string{"a", "b"} {
		Set(&csv, operatorsv1alpha1.CSVPhaseInstalling, operatorsv1alpha1.CSVReasonWaiting, "installing: waiting for "+cause, now)
	}
	if got := csv.Status.Conditions[0].Message; got != "installing: waiting for a" {
		t.Errorf("the condition reports %q", got)
	}
	if got := Explained(csv.Status); got != "installing: waiting for b" {
		t.Errorf("explained by %q", got)
	}
}
