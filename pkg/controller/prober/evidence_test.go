package prober

import (
	"strings"
	"testing"
	"time"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
)

// A pod that lost its annotation counts as re-synced at the recorded time, and the message reports it.
func TestLostResyncAnnotation(t *testing.T) {
	annotated := time.Unix(1_000_000, 0)
	for written, lost := range map[time.Time]bool{{}: false, annotated: false, annotated.Add(-time.Second): false, annotated.Add(time.Second): true} {
		seen := certs.Backend{Message: "pod shop/a serves another certificate", ResyncedAt: annotated}
		addRecorded(&seen, written)
		if said := strings.Contains(seen.Message, wellknown.AnnotationResyncedAt); said != lost || seen.ResyncedAt.After(annotated) != lost {
			t.Errorf("written at %s: %+v", written, seen)
		}
	}
}
