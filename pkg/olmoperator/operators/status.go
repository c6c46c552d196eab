package operators

import (
	"context"
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/operators/component"
)

// reconcileOperator creates an Operator that has components, and writes its status. As with OLM v0, an Operator is never
// deleted by the manager, and is recreated while it has components.
func (c *Controller) reconcileOperator(ctx context.Context, object cache.ObjectName) error {
	switch started, filled := c.own.state(operatorsCRD); {
	case !started:
		return nil // no client can read it; if the kind is served later, all are enqueued
	case !filled:
		c.operators.AddAfter(object, statusDelay)
		return nil
	}
	references := c.references(object.Name)
	operator := c.own.operators.Get("", object.Name)
	if operator == nil {
		if len(references) == 0 || !component.CanExist(object.Name) {
			return nil
		}
		var err error
		if operator, err = c.create(ctx, object.Name); operator == nil || err != nil {
			return err
		}
	}
	return c.writeStatus(ctx, operator, component.Status(object.Name, references))
}

func (c *Controller) references(operator string) (references []operatorsv1.RichReference) {
	for _, k := range c.kinds {
		for _, o := range k.by(byComponent, component.Shortened(operator)) {
			var conditions []operatorsv1.Condition
			if k.conditions != nil {
				conditions = k.conditions(o)
			}
			references = append(references, component.Reference(k.GroupVersionKind, o, conditions))
		}
	}
	return references
}

// create returns nil if the Operator exists already, or if a client deletes it each time.
func (c *Controller) create(ctx context.Context, name string) (*operatorsv1.Operator, error) {
	object, fields := records.FieldObject{Title: "Operator " + name}, map[string]string{"metadata.name": name}
	if c.paused(object, fields, name) {
		return nil, nil
	}
	created, err := c.OLM.Operators().Create(ctx, &operatorsv1.Operator{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{FieldManager: wellknown.FieldManager})
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, nil // the event of its creation follows
	case err != nil:
		return nil, err
	}
	c.contests.Wrote(object, fields, c.now())
	return created, nil
}

func (c *Controller) writeStatus(ctx context.Context, operator *operatorsv1.Operator, status operatorsv1.OperatorStatus) error {
	if equality.Semantic.DeepEqual(operator.Status, status) {
		return nil
	}
	text, err := json.Marshal(status)
	if err != nil {
		return err
	}
	object, fields := records.FieldObjectOf("Operator", operator), map[string]string{"status": names.Hash(string(text))}
	if c.paused(object, fields, operator.Name) {
		return nil
	}
	updated := operator.DeepCopy()
	updated.Status = status
	_, err = c.OLM.Operators().UpdateStatus(ctx, updated, metav1.UpdateOptions{FieldManager: wellknown.FieldManager})
	switch {
	case apierrors.IsNotFound(err):
		return nil // the event of its deletion follows
	case apierrors.IsConflict(err):
		c.operators.AddAfter(cache.NewObjectName("", operator.Name), statusDelay)
		return nil
	case err != nil:
		return err
	}
	c.contests.Wrote(object, fields, c.now())
	return nil
}

// paused reports whether another client reverted the same write too often. The Operator is reconciled after the pause.
func (c *Controller) paused(object records.FieldObject, fields map[string]string, operator string) bool {
	held, until, why := c.contests.Held(object, fields, c.now())
	if len(held) == 0 {
		return false
	}
	c.log.WithField("operator", operator).WithField("cause", why).Warn("the Operator is not written")
	c.operators.AddAfter(cache.NewObjectName("", operator), max(until.Sub(c.now()), time.Second))
	return true
}
