package page

import (
	"cmp"
	"slices"
	"strings"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/doctor"
)

// Health is the state of a webhook in one word.
type Health string

// The values of Health.
const (
	// Failing means that requests fail now, all or some of them.
	Failing Health = "failing"
	// Warning means that requests are not checked, or that some fail when something else happens.
	Warning Health = "warning"
	// Unknown means that the state could not be read, or was not read yet.
	Unknown Health = "unknown"
	// NotRegistered means that API servers do not call it.
	NotRegistered Health = "not registered"
	// Healthy means that nothing was found.
	Healthy Health = "healthy"
)

var healths = []Health{Failing, Warning, Unknown, NotRegistered, Healthy}

// Symbol is a character for a health: some readers do not see colors.
func (h Health) Symbol() string {
	return map[Health]string{Failing: "✕", Warning: "!", Unknown: "?", NotRegistered: "…", Healthy: "✓"}[h]
}

// Class is the name of a health in the style sheet.
func (h Health) Class() string { return strings.ReplaceAll(string(h), " ", "-") }

func worst(all ...Health) Health {
	return slices.MinFunc(all, func(a, b Health) int { return cmp.Compare(slices.Index(healths, a), slices.Index(healths, b)) })
}

// byFindings is the health of a registered webhook by its findings.
func byFindings(findings []doctor.Finding) Health {
	health := Healthy
	for _, f := range findings {
		switch f.Level {
		case doctor.Error:
			health = worst(health, Failing)
		case doctor.Warning:
			health = worst(health, Warning)
		default:
			health = worst(health, Unknown)
		}
	}
	return health
}

// byState is the health of a declared webhook by its state, as status shows it.
func (w Webhook) byState() Health {
	switch managerv1alpha1.WebhookState(w.State) {
	case managerv1alpha1.WebhookRegistered:
		if len(w.Registrations) == 0 {
			return Unknown
		}
		if w.Problem != "" && !w.isRotating() {
			return Warning
		}
		return Healthy
	case managerv1alpha1.WebhookUnreachable:
		if w.Policy == policyIgnore {
			return Warning
		}
		return Failing
	case managerv1alpha1.WebhookWaiting, managerv1alpha1.WebhookBlocked, managerv1alpha1.WebhookDisabled:
		return NotRegistered
	default:
		return Unknown
	}
}

// isRotating reports whether the message of the webhook is the progress of a rotation.
func (w Webhook) isRotating() bool {
	phases := []managerv1alpha1.CertificatePhase{managerv1alpha1.CertificateDistributing, managerv1alpha1.CertificatePromoting, managerv1alpha1.CertificateRetiring}
	return slices.ContainsFunc(phases, func(phase managerv1alpha1.CertificatePhase) bool { return w.Reason == "Certificate"+string(phase) })
}
