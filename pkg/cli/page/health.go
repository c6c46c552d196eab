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

// The healths of a webhook.
const (
	// Failing means that requests fail now, all or some of them.
	Failing Health = "failing"
	// Doubtful means that requests are not checked, or that some will fail when something else happens.
	Doubtful Health = "warning"
	// Unknown means that the state could not be read.
	Unknown Health = "unknown"
	// Waiting means that API servers do not call it.
	Waiting Health = "not registered"
	// Healthy means that nothing was found.
	Healthy Health = "healthy"
)

var healths = []Health{Failing, Doubtful, Unknown, Waiting, Healthy}

// Symbol is a character for a health: colours alone do not reach all readers.
func (h Health) Symbol() string {
	return map[Health]string{Failing: "✕", Doubtful: "!", Unknown: "?", Waiting: "…", Healthy: "✓"}[h]
}

// Class is the name of a health in the style sheet.
func (h Health) Class() string { return strings.ReplaceAll(string(h), " ", "-") }

// worst returns the health of a registered webhook by its findings.
func worst(findings []doctor.Finding) Health {
	health := Healthy
	for _, f := range findings {
		found := Unknown
		switch f.Level {
		case doctor.Error:
			found = Failing
		case doctor.Warning:
			found = Doubtful
		case doctor.Unknown:
		}
		health = slices.MinFunc([]Health{health, found}, func(a, b Health) int {
			return cmp.Compare(slices.Index(healths, a), slices.Index(healths, b))
		})
	}
	return health
}

// healthOf is what findings of a declared webhook and its state in the status say together.
func healthOf(w Webhook) Health {
	switch w.State {
	case string(managerv1alpha1.WebhookWaiting), string(managerv1alpha1.WebhookBlocked), string(managerv1alpha1.WebhookDisabled):
		return Waiting
	}
	health := worst(w.Findings)
	if health == Healthy && w.Problem != "" {
		return Doubtful
	}
	return health
}
