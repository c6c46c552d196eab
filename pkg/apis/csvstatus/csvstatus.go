// Package csvstatus writes the phase of a ClusterServiceVersion where OLM v0's users look for
// it. Scripts and tests compare status.message as a whole, so it is OLM's to the letter;
// the newest of status.conditions contains the same text, then the cause and the next step.
package csvstatus

import (
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// complete are whole messages of OLM v0. In a message of the manager, a colon and its own text follow.
var complete = regexp.MustCompile("^(?:" + strings.Join([]string{
	"csv in namespace with no operatorgroups",
	"csv created in namespace with multiple operatorgroups, can't pick one automatically",
	"no targetNamespaces are matched operatorgroups namespace selection",
	`\w+ InstallModeType not supported, cannot configure to watch (?:(?:own|one) namespace|(?:all|\d+) namespaces)`,
	"conflicting CRD owner in namespace",
	"unable to adopt APIService",
	"intersecting operatorgroups provide the same apis",
	"static provided api operatorgroup cannot be modified by these apis",
	"requirements not yet checked",
	"one or more requirements couldn't be found",
	"install timeout",
	"apiServices not installed",
	"CSV contains repeated WebhookDescription name",
	"webhook rules cannot include all groups",
	"webhook rules cannot include the OLM group",
	"webhook rules cannot include MutatingWebhookConfiguration or ValidatingWebhookConfiguration resources",
	// Of a requirement, not of a phase.
	"CRD version not served",
}, "|") + "): ")

// Words are OLM v0's message for it: the message itself, when both are equal.
func Words(message string) string {
	if words := complete.FindString(message); words != "" {
		return strings.TrimSuffix(words, ": ")
	}
	return message
}

// Set sets the phase. As in OLM v0, conditions keep the first message. Only the cause in it is replaced.
func Set(csv *operatorsv1alpha1.ClusterServiceVersion, phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason, message string, now metav1.Time) {
	csv.SetPhase(phase, reason, Words(message), &now)
	if newest := &csv.Status.Conditions[len(csv.Status.Conditions)-1]; newest.Message != message && Words(newest.Message) == csv.Status.Message {
		newest.Message, newest.LastUpdateTime = message, &now
	}
}

// Explained returns the message of the phase with the cause that the newest condition reports.
func Explained(status operatorsv1alpha1.ClusterServiceVersionStatus) string {
	if len(status.Conditions) == 0 {
		return status.Message
	}
	newest := status.Conditions[len(status.Conditions)-1]
	if newest.Phase == status.Phase && newest.Reason == status.Reason && Words(newest.Message) == status.Message {
		return newest.Message
	}
	return status.Message
}
