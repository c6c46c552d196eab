package certs

import (
	"fmt"
	"testing"
	"time"
)

func TestResyncTimes(t *testing.T) {
	for after, want := range map[time.Duration][2]time.Duration{
		0:                 {0, time.Second},
		time.Second:       {time.Second, 3 * time.Second},
		5 * time.Second:   {3 * time.Second, 7 * time.Second},
		40 * time.Second:  {31 * time.Second, 63 * time.Second},
		100 * time.Minute: {97*time.Minute + 3*time.Second, 107*time.Minute + 3*time.Second},
	} {
		last, next := resyncTimes(start, start.Add(after))
		if got := fmt.Sprint(last.Sub(start), next.Sub(start)); got != fmt.Sprint(want[0], want[1]) {
			t.Errorf("after %s kubelets re-sync at %s, want %s", after, got, fmt.Sprint(want[0], want[1]))
		}
	}
}

func TestResyncTimeInTheFutureIsIgnored(t *testing.T) {
	seen := Evidence{Backends: []Backend{{Pod: "a", Serves: ServesOther, ResyncedAt: after(time.Hour)}, {Pod: "b", Serves: ServesOther, ResyncedAt: after(time.Minute)}}}
	if pods := seen.podsToResync(start, after(time.Minute)); len(pods) != 1 || pods[0] != "a" {
		t.Errorf("pods to re-sync are %q, want a", pods)
	}
}
