package copies

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies/plan"
)

const (
	// retryAfter is after a write that the caches or another client overtook.
	retryAfter = time.Second
	// refusedFor is the pause after a refused write. Each change of the original ends it.
	refusedFor = 10 * time.Minute
)

var errOriginalChanged = errors.New("the original has changed")

func (c *Controller) carryOut(ctx context.Context, name cache.ObjectName, facts plan.Facts, decision plan.Decision) error {
	if decision.Verify {
		if is, err := c.isCopy(ctx, name, facts.Copy); err != nil || !is {
			return err
		}
	}
	if decision.Verb == plan.Delete {
		return c.delete(ctx, name, facts.Copy)
	}
	desired, err := c.contents.of(ctx, decision.Original)
	switch {
	case err != nil:
		return err
	case desired == nil:
		return errOriginalChanged
	case decision.Verb == plan.Create:
		return c.create(ctx, name, desired)
	default:
		return c.update(ctx, name, facts.Copy, decision.Changed, desired)
	}
}

// isCopy reads the status of a ClusterServiceVersion of which only the label is known.
func (c *Controller) isCopy(ctx context.Context, name cache.ObjectName, labelled *plan.Copy) (bool, error) {
	read, err := readLive(ctx, c.OLM, name)
	if err != nil {
		return false, err
	}
	return read.UID == labelled.UID && plan.ProvesCopy(read.csv()), nil
}

func (c *Controller) metadataClient(namespace string) metadata.ResourceInterface {
	return c.Metadata.Resource(operatorsv1alpha1.SchemeGroupVersion.WithResource("clusterserviceversions")).Namespace(namespace)
}

func (c *Controller) delete(ctx context.Context, name cache.ObjectName, existing *plan.Copy) error {
	err := c.metadataClient(name.Namespace).Delete(ctx, name.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &existing.UID, ResourceVersion: &existing.ResourceVersion},
	})
	if err == nil {
		c.written.recordDeletion(name)
	}
	return err
}

// create writes the state first. A copy that has no status is not current.
func (c *Controller) create(ctx context.Context, name cache.ObjectName, desired *content) error {
	body, err := document{Metadata: desired.metadataFor(name, &metav1.ObjectMeta{}), Spec: desired.spec}.encoded()
	if err != nil {
		return err
	}
	created, err := c.OLM.EncodedClusterServiceVersions(name.Namespace).Create(ctx, body, metav1.CreateOptions{FieldManager: wellknown.FieldManager})
	if err != nil {
		return err
	}
	c.written.created(name, created.ResourceVersion, desired.state.String(), c.now())
	_, err = c.writeStatus(ctx, name, &created.ObjectMeta, desired)
	return err
}

// update writes the status first: the state of an unfinished update is the previous one.
func (c *Controller) update(ctx context.Context, name cache.ObjectName, existing *plan.Copy, changed bool, desired *content) (err error) {
	meta := &metav1.ObjectMeta{Name: name.Name, Namespace: name.Namespace, UID: existing.UID, ResourceVersion: existing.ResourceVersion}
	outdated, status := existing.Outdated(changed, desired.state)
	if status {
		if meta, err = c.writeStatus(ctx, name, meta, desired); err != nil {
			return err
		}
	}
	if outdated {
		return c.replace(ctx, name, meta, desired)
	}
	if existing.Copied == desired.state.String() {
		return nil
	}
	updated, err := write.Metadata(ctx, c.metadataClient(name.Namespace), meta, map[string]any{
		"annotations": map[string]any{wellknown.AnnotationCopiedState: desired.state.String()},
	})
	if err != nil {
		return err
	}
	c.written.wrote(name, updated.ResourceVersion, desired.state.String())
	return nil
}

// replace also removes what other clients added, such as finalizers and owners.
func (c *Controller) replace(ctx context.Context, name cache.ObjectName, meta *metav1.ObjectMeta, desired *content) error {
	body, err := document{Metadata: desired.metadataFor(name, meta), Spec: desired.spec}.encoded()
	if err != nil {
		return err
	}
	updated, err := c.OLM.EncodedClusterServiceVersions(name.Namespace).Update(ctx, name.Name, body, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	if err != nil {
		return err
	}
	c.written.wrote(name, updated.ResourceVersion, desired.state.String())
	return nil
}

func (c *Controller) writeStatus(ctx context.Context, name cache.ObjectName, meta *metav1.ObjectMeta, desired *content) (*metav1.ObjectMeta, error) {
	identity := metav1.ObjectMeta{Name: name.Name, Namespace: name.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
	body, err := document{Metadata: identity, Status: desired.status}.encoded()
	if err != nil {
		return nil, err
	}
	updated, err := c.OLM.EncodedClusterServiceVersions(name.Namespace).Update(ctx, name.Name, body, metav1.UpdateOptions{FieldManager: wellknown.FieldManager}, "status")
	if err != nil {
		return nil, err
	}
	c.written.wrote(name, updated.ResourceVersion, desired.state.String())
	return &updated.ObjectMeta, nil
}

func (c *content) metadataFor(name cache.ObjectName, live *metav1.ObjectMeta) metav1.ObjectMeta {
	meta := *c.metadata.DeepCopy()
	meta.Namespace, meta.UID, meta.ResourceVersion = name.Namespace, live.UID, live.ResourceVersion
	meta.Annotations[wellknown.AnnotationCopiedState] = c.state.String()
	return meta
}

// concluded records the result of a write, and decides when to repeat it.
func (c *Controller) concluded(name cache.ObjectName, decision plan.Decision, err error) error {
	switch {
	case err == nil:
		c.setPending(name, false)
		c.recordRepair(name, decision)
		return nil
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), errors.Is(err, errOriginalChanged),
		apierrors.IsAlreadyExists(err), apierrors.IsConflict(err) && !write.IsDenied(err): // the caches will show it
		c.copies.AddAfter(name, retryAfter)
		return nil
	case write.IsRefused(err):
		c.reportRefusal(name, decision, err)
		c.copies.AddAfter(name, refusedFor)
		return nil
	default:
		return err
	}
}

func (c *Controller) reportRefusal(name cache.ObjectName, decision plan.Decision, err error) {
	c.log.WithField("copy", name.String()).WithError(err).Warn("the API server refuses a copy")
	if decision.Original != nil {
		c.events.Eventf(decision.Original, corev1.EventTypeWarning, managerv1alpha1.EventCopyRefused, "the copy in namespace %s is not written: %s", name.Namespace, write.Text(err))
	}
}

func (c *Controller) setPending(name cache.ObjectName, is bool) {
	if c.pending.set(name, is) {
		c.config.AddAfter(configName, conditionDelay)
	}
}

// contestOf returns what records of repairs are about.
func contestOf(name cache.ObjectName, decision plan.Decision) (records.FieldObject, map[string]string) {
	object := records.FieldObject{Title: operatorsv1alpha1.ClusterServiceVersionKind + " " + name.String()}
	if decision.Verb == plan.Delete {
		return object, map[string]string{"existence": "deleted"}
	}
	object.UID = decision.Original.UID
	return object, map[string]string{"spec": decision.Original.ResourceVersion}
}

// pausedUntil returns until when another client's changes stay, because they were repaired too often.
func (c *Controller) pausedUntil(name cache.ObjectName, decision plan.Decision) (until time.Time, why string) {
	if !decision.Repair {
		return time.Time{}, ""
	}
	object, fields := contestOf(name, decision)
	_, until, why = c.contests.Held(object, fields, c.now())
	return until, why
}

func (c *Controller) recordRepair(name cache.ObjectName, decision plan.Decision) {
	if !decision.Repair {
		return
	}
	object, fields := contestOf(name, decision)
	c.contests.Wrote(object, fields, c.now())
	contest, _ := c.contests.Contest(object)
	if !contest.Repairs.Contested() {
		return
	}
	message := contest.Repairs.Message(object.Title, c.now())
	c.log.WithField("copy", name.String()).Warn(message)
	if decision.Original != nil {
		c.events.Event(decision.Original, corev1.EventTypeWarning, managerv1alpha1.ConditionContested, message)
	}
}
