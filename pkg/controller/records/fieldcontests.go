package records

import (
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// FieldContests records written fields of objects of other owners, and how often they were repaired.
type FieldContests struct {
	mutex sync.Mutex
	known map[FieldObject]fieldContest
	swept time.Time // when old writes were last removed
}

// FieldObject identifies an object. The UID distinguishes it from a previous object of the same name.
type FieldObject struct {
	Title string // for messages
	UID   types.UID
}

// FieldObjectOf returns the FieldObject of an object of a kind.
func FieldObjectOf(kind string, o metav1.Object) FieldObject {
	return FieldObject{Title: kind + " " + cache.MetaObjectToName(o).String(), UID: o.GetUID()}
}

// AnnotationField returns the path of an annotation.
func AnnotationField(annotation string) string { return "metadata.annotations." + annotation }

// fieldContestsLast is how long a write is remembered. It is longer than any pause.
const fieldContestsLast = time.Hour

type fieldContest struct {
	drift.FieldContest
	at time.Time // of the latest write
}

// Wrote records a write of fields with their values. The same value for a second time is a repair.
func (f *FieldContests) Wrote(object FieldObject, fields map[string]string, now time.Time) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.sweep(now)
	contest, there := f.known[object]
	contest.at = now
	if !there {
		contest.Values = map[string]string{}
	}
	if rewritten := contest.Rewritten(fields); len(rewritten) > 0 {
		contest.Repairs = contest.Repairs.Repaired(drift.Drift{Fields: rewritten}, now)
	}
	maps.Copy(contest.Values, fields)
	put(&f.known, object, contest)
}

// sweep removes what no pause needs any longer. It reads all objects, so it runs once a minute.
func (f *FieldContests) sweep(now time.Time) {
	if now.Sub(f.swept) < time.Minute {
		return
	}
	f.swept = now
	maps.DeleteFunc(f.known, func(_ FieldObject, c fieldContest) bool { return now.Sub(c.at) > fieldContestsLast })
}

// Held returns the fields that another client changed back too often; until when they wait; and the reason.
func (f *FieldContests) Held(object FieldObject, fields map[string]string, now time.Time) (held []string, until time.Time, why string) {
	contest, _ := f.Contest(object)
	if held, until = contest.Held(fields, now); len(held) > 0 {
		why = contest.Repairs.Message(object.Title, now)
	}
	return held, until, why
}

// Contest returns a copy of the record of an object.
func (f *FieldContests) Contest(object FieldObject) (_ drift.FieldContest, known bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	contest, known := f.known[object]
	return drift.FieldContest{Values: maps.Clone(contest.Values), Repairs: contest.Repairs}, known
}

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
	at, _ := time.Parse(time.RFC3339Nano, contest.Values[AnnotationField(wellknown.AnnotationResyncedAt)]) // zero if there is none
	return at
}
