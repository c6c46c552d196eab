package phase

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The message of a condition is brief for any cause, in any phase and from any phase. A phase with
// a brief message is not written again. At least one message is cut.
func TestConditionsAreBrief(t *testing.T) {
	long := strings.Repeat("a cause that the API server explains at length; ", 200)
	causes := map[string]Facts{
		"Failure":               {Failure: &Phase{operatorsv1alpha1.CSVPhaseFailed, operatorsv1alpha1.CSVReasonInvalidWebhookDescription, long}},
		"Unmet":                 {Unmet: long},
		"Refused":               {Refused: long},
		"Incomplete":            {Incomplete: long},
		"TimedOut":              {Incomplete: long, TimedOut: long},
		"UnavailableAPIService": {Incomplete: long, UnavailableAPIService: long},
		"Unhealthy":             {Unhealthy: long},
		"NotUpgradeable":        {NotUpgradeable: long},
		"NotReady":              {NotReady: long},
	}
	// The first is the command that shows the details, the second a name; the others are in no message.
	brief := []string{"Details", "ReplacedBy", "AwaitedVersions", "Reinstall", "FailForward"}
	for i := range reflect.TypeFor[Facts]().NumField() {
		name := reflect.TypeFor[Facts]().Field(i).Name
		if _, isCause := causes[name]; !isCause && !slices.Contains(brief, name) {
			t.Errorf("facts.%s is new: add it to causes or brief", name)
		}
	}
	for name, f := range causes {
		f.Details = "kubectl -n shop describe webhookrollouts shop.v1"
		t.Run(name, func(t *testing.T) {
			cut := false
			for _, from := range []Phase{{}, Pending, Unmet, Ready, Installing, Waiting, Succeeded, Refused, Timeout, Unhealthy, Reinstall} {
				walked := Transitions(from, f)
				for _, p := range walked {
					if len(p.Message) > csvstatus.MaxMessage {
						t.Errorf("from %s: %d bytes: %s", from.Phase, len(p.Message), p.Message)
					}
					cut = cut || strings.HasSuffix(p.Message, f.Details)
				}
				if len(walked) == 0 {
					continue
				}
				installtest.Same(t, "the number of phases that are written again", 0, len(Transitions(walked[len(walked)-1], f)))
			}
			installtest.Same(t, "a phase has the cause", true, cut)
		})
	}
}

// A blocked deletion is written once, and again with another cause.
func TestDeletionBlocked(t *testing.T) {
	csv, now := &operatorsv1alpha1.ClusterServiceVersion{}, metav1.NewTime(noon)
	for _, test := range []struct {
		inUse string
		want  int
	}{{"things are in use", 1}, {"things are in use", 0}, {NamespaceDeleted("things are in use"), 1}, {NamespaceDeleted("things are in use"), 0}} {
		phases := DeletionBlocked(csv.Status, managerv1alpha1.ConditionConversionInUse, test.inUse, "")
		installtest.Same(t, "the number of phases", test.want, len(phases))
		for _, p := range phases {
			csv.SetPhase(p.Phase, p.Reason, p.Message, &now)
		}
	}
	if s := csv.Status; s.Phase != operatorsv1alpha1.CSVPhaseDeleting || s.Reason != managerv1alpha1.ConditionConversionInUse || !strings.HasPrefix(s.Message, "its Namespace is being deleted") {
		t.Errorf("is in phase %s/%s: %s", s.Phase, s.Reason, s.Message)
	}
}
