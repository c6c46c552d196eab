package controller

import (
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// unanswered tells that the API server could not ask a webhook, whoever's, that has to be asked.
func unanswered(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}

// leaveOut has a pass go on without a step that the API server does not accept. Where it does
// not because nobody answers a webhook, what follows may be what brings the answer back: the
// pass fails in the end, and is tried again as soon as any other that fails.
func (s *snapshot) leaveOut(step rollout.Step, err error) {
	key := step.Key()
	if !unanswered(err) {
		s.Observed.Refused[key] = fmt.Sprintf("the API server refuses %s: %v", key, err)
		return
	}
	s.Observed.Refused[key] = fmt.Sprintf("nobody answers a webhook that has to be asked about %s: %v", key, err)
	s.Observed.Unanswered[key] = true
	s.unanswered = errors.Join(s.unanswered, fmt.Errorf("%s %s: %w", step.Verb, key, err))
}
