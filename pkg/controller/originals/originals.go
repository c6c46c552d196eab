// Package originals reveals installed ClusterServiceVersions that another client made look like copies.
package originals

import (
	"context"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/versions"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// Revealer removes the marks of copies from originals. With the marks the manager would neither maintain the webhooks of
// an operator nor remove the finalizer of its ClusterServiceVersion.
type Revealer struct {
	clients.Set
	Caches        *informers.Caches
	Versions      *versions.Index
	FieldContests *records.FieldContests
	Events        record.EventRecorder
	Log           *logrus.Entry
	Now           func() time.Time
}

// Reveal removes the marks from a ClusterServiceVersion that is ignored because of them, if it is an original.
func (r *Revealer) Reveal(ctx context.Context, k queue.Key) (requeue rollout.Requeue, err error) {
	meta, marks := r.ignored(k)
	if meta == nil || !r.Versions.InScope(k.Namespace) || !marks.DisguiseOriginal(k.Namespace, r.isRecorded(meta)) {
		return requeue, nil
	}
	object := records.FieldObjectOf(operatorsv1alpha1.ClusterServiceVersionKind, meta)
	fields := map[string]string{"metadata.labels." + operatorsv1alpha1.CopiedLabelKey: ""}
	if held, until, why := r.FieldContests.Held(object, fields, r.Now()); len(held) > 0 {
		return rollout.Requeue{At: until, Reason: why}, nil
	}
	client := r.Metadata.Resource(operatorsv1alpha1.SchemeGroupVersion.WithResource("clusterserviceversions")).Namespace(k.Namespace)
	_, err = write.Metadata(ctx, client, meta, map[string]any{
		"labels":      map[string]any{operatorsv1alpha1.CopiedLabelKey: nil},
		"annotations": map[string]any{wellknown.AnnotationOperatorNamespace: k.Namespace, wellknown.AnnotationCopiedState: nil},
	})
	if apierrors.IsNotFound(err) {
		return requeue, nil
	}
	if err != nil {
		return requeue, err
	}
	r.FieldContests.Wrote(object, fields, r.Now())
	r.report(k, meta, object)
	return requeue, nil
}

// ignored returns a ClusterServiceVersion that the label hides from the other caches, or else one of these.
func (r *Revealer) ignored(k queue.Key) (metav1.Object, csvspec.Marks) {
	if labelled := r.Caches.Copies.Get(k.Namespace, k.Name); labelled != nil {
		return labelled, labelled.Marks
	}
	if csv := r.Caches.CSVs.Get(k.Namespace, k.Name); csv != nil {
		return csv, csvspec.MarksOf(csv)
	}
	return nil, csvspec.Marks{}
}

// isRecorded reports whether this ClusterServiceVersion owns a WebhookRollout. No copy has one.
func (r *Revealer) isRecorded(meta metav1.Object) bool {
	current := r.Caches.Rollouts.Get(meta.GetNamespace(), meta.GetName())
	return current != nil && slices.ContainsFunc(current.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.UID == meta.GetUID() })
}

func (r *Revealer) report(k queue.Key, meta metav1.Object, object records.FieldObject) {
	const removed = "another client gave this ClusterServiceVersion the label olm.copiedFrom or the annotation olm.operatorNamespace of a copy; " +
		"they are removed, because it is an original"
	r.Log.WithFields(k.Fields()).Warn(removed)
	csv := &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name, UID: meta.GetUID()}}
	r.Events.Event(csv, corev1.EventTypeWarning, managerv1alpha1.EventMarksOfCopyRemoved, removed)
	if contest, _ := r.FieldContests.Contest(object); contest.Repairs.Contested() {
		r.Events.Event(csv, corev1.EventTypeWarning, managerv1alpha1.ConditionContested, contest.Repairs.Message(object.Title, r.Now()))
	}
}
