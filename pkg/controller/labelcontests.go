package controller

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// labelContests remembers how often the manager repaired labels of Namespaces that another client changed back.
type labelContests struct {
	mutex sync.Mutex
	known map[string]map[string]labelContest // by Namespace and label
}

type labelContest struct {
	borne   bool // whether the Namespace was given the label last, or relieved of it
	repairs rollout.Contest
}

// wrote records changes of labels. The same change for a second time is a repair.
func (l *labelContests) wrote(namespace string, add, remove []string, now time.Time) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.known == nil {
		l.known = map[string]map[string]labelContest{}
	}
	if l.known[namespace] == nil {
		l.known[namespace] = map[string]labelContest{}
	}
	for _, label := range slices.Concat(add, remove) {
		contest, there := l.known[namespace][label]
		borne := slices.Contains(add, label)
		if there && contest.borne == borne {
			contest.repairs = contest.repairs.Repaired(rollout.Drift{Fields: []string{labelField(label)}}, now)
		}
		contest.borne = borne
		l.known[namespace][label] = contest
	}
}

// held returns those labels that are left as they are for now, because another client changed them back too often,
// until when, and the reason.
func (l *labelContests) held(namespace string, add, remove []string, now time.Time) (labels []string, until time.Time, why string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var reasons []string
	for _, label := range slices.Concat(add, remove) {
		contest, there := l.known[namespace][label]
		end := contest.repairs.HeldUntil(now)
		if !there || end.IsZero() || contest.borne != slices.Contains(add, label) {
			continue
		}
		labels, reasons = append(labels, label), append(reasons, contest.repairs.Message("Namespace "+namespace, now))
		if until.IsZero() || end.Before(until) {
			until = end
		}
	}
	return labels, until, strings.Join(reasons, "; ")
}

// forget forgets a Namespace that is gone.
func (l *labelContests) forget(namespace string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.known, namespace)
}

func labelField(label string) string { return "metadata.labels." + label }
