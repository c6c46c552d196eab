package records

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Resynced records the annotation AnnotationResyncedAt of a pod as the API server returned it, or now if the write
// was refused or the annotation was removed. The values differ, so the writes are no repairs.
func (f *FieldContests) Resynced(pod, written *corev1.Pod, now time.Time) {
	at := now
	value := written.Annotations[wellknown.AnnotationResyncedAt]
	if kept, err := time.Parse(time.RFC3339Nano, value); err == nil && value != pod.Annotations[wellknown.AnnotationResyncedAt] {
		at = kept
	}
	f.Wrote(FieldObjectOf("Pod", pod), map[string]string{AnnotationField(wellknown.AnnotationResyncedAt): at.Format(time.RFC3339Nano)}, now)
}

// ResyncedAt returns the last time of Resynced; zero for never.
func (f *FieldContests) ResyncedAt(pod *corev1.Pod) time.Time {
	contest, _ := f.Contest(FieldObjectOf("Pod", pod))
	at, err := time.Parse(time.RFC3339Nano, contest.Values[AnnotationField(wellknown.AnnotationResyncedAt)])
	if err != nil {
		return time.Time{}
	}
	return at
}
