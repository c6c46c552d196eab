package operators

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/loop"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// labeller changes labels for one object of a queue, and collects why it cannot.
type labeller struct {
	*Controller
	loop     *loop.Loop
	object   cache.ObjectName
	problems []string
	errs     []error
}

func (l *labeller) err() error { return errors.Join(l.errs...) }

func (l *labeller) add(ctx context.Context, k kind, o drift.Object, labels ...string) {
	missing := map[string]any{}
	for _, label := range labels {
		if _, exists := o.GetLabels()[label]; !exists {
			missing[label] = ""
		}
	}
	l.write(ctx, k, o, missing)
}

func (l *labeller) remove(ctx context.Context, k kind, o drift.Object, label string) {
	if _, exists := o.GetLabels()[label]; exists {
		l.write(ctx, k, o, map[string]any{label: nil})
	}
}

// write is a patch for the object as it was read. A patch for an older state would count as a repair although no client
// removed the label.
func (l *labeller) write(ctx context.Context, k kind, o drift.Object, labels map[string]any) {
	if len(labels) == 0 || o.GetDeletionTimestamp() != nil {
		return
	}
	object, fields := records.FieldObjectOf(k.Kind, o), map[string]string{}
	for label := range labels {
		fields["metadata.labels."+label] = "" // a removal and an addition in turn are a contest, too
	}
	if held, until, why := l.contests.Held(object, fields, l.now()); len(held) > 0 {
		l.problems = append(l.problems, why)
		l.loop.AddAfter(l.object, max(until.Sub(l.now()), time.Second))
		return
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": o.GetUID(), "resourceVersion": o.GetResourceVersion(), "labels": labels}})
	if err == nil {
		_, err = l.Metadata.Resource(k.gvr()).Namespace(o.GetNamespace()).Patch(ctx, o.GetName(), types.MergePatchType, patch, metav1.PatchOptions{FieldManager: wellknown.FieldManagerComponents})
	}
	switch {
	case apierrors.IsNotFound(err): // an event follows
	case apierrors.IsConflict(err) && !write.IsDenied(err):
		l.loop.AddAfter(l.object, time.Second) // a change of other fields is no event for the labels
	case err != nil:
		if write.IsRefused(err) {
			l.problems = append(l.problems, fmt.Sprintf("%s cannot be labelled: %s", object.Title, write.Text(err)))
		}
		l.errs = append(l.errs, fmt.Errorf("%s: %w", object.Title, err))
	default:
		l.contests.Wrote(object, fields, l.now())
	}
}
