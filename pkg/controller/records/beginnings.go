package records

import (
	"sync"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/beginning"
)

// Beginnings records what API servers have observed of new registrations.
type Beginnings struct {
	mutex   sync.Mutex
	answers beginning.Answers
}

// Add records an answer about some kinds of configurations.
func (b *Beginnings) Add(kinds webhookconfig.Kinds, asked, answered time.Time, behind []string, unknown string) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.answers = b.answers.With(kinds, asked, answered, behind, unknown)
}

// Last returns the answers until now.
func (b *Beginnings) Last() beginning.Answers {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.answers
}
