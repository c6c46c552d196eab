package scale

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/olmoperator/copies/plan"
)

var csvResource = operatorsv1alpha1.SchemeGroupVersion.WithResource("clusterserviceversions")

// encodedCopy is a copy whose spec and status are not decoded: a plain client need not decode them.
type encodedCopy struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"metadata"`
	Spec              json.RawMessage `json:"spec,omitempty"`
	Status            json.RawMessage `json:"status,omitempty"`
}

// copiesFloor returns how long plain clients take for each of two writes to a copy of one original in each target: it is
// created, and gets its status. No manager may run, since it would delete these copies. They are deleted at the end.
func (c *copying) copiesFloor() time.Duration {
	c.Helper()
	copied := c.encodedCopy(c.originals[0])
	took := c.timed(func() {
		c.eachTarget(func(namespace string) error { return c.writeCopy(copied, namespace) })
	})
	c.eachTarget(func(namespace string) error {
		return c.any.Resource(csvResource).Namespace(namespace).Delete(c.ctx, copied.Name, metav1.DeleteOptions{})
	})
	return took / time.Duration(2*c.targets())
}

// encodedCopy returns what the manager would write, with another name.
func (c *copying) encodedCopy(original *operatorsv1alpha1.ClusterServiceVersion) encodedCopy {
	c.Helper()
	text, err := c.olm.EncodedClusterServiceVersions(original.Namespace).Get(c.ctx, original.Name)
	c.must(err)
	var copied encodedCopy
	c.must(json.Unmarshal(text, &copied))
	copied.ObjectMeta = plan.Metadata(original)
	copied.Name = "floor.v1"
	copied.Annotations[wellknown.AnnotationCopiedState] = plan.StateOf(original).String()
	copied.Status = installtest.OrPanic(json.Marshal(plan.Status(original)))
	return copied
}

func (c *copying) writeCopy(copied encodedCopy, namespace string) error {
	client, status := c.olm.EncodedClusterServiceVersions(namespace), copied.Status
	copied.Namespace, copied.Status = namespace, nil
	body, err := json.Marshal(copied)
	if err != nil {
		return err
	}
	created, err := client.Create(c.ctx, body, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	identity := metav1.ObjectMeta{Namespace: namespace, Name: copied.Name, ResourceVersion: created.ResourceVersion}
	body, err = json.Marshal(encodedCopy{TypeMeta: copied.TypeMeta, ObjectMeta: identity, Status: status})
	if err != nil {
		return err
	}
	_, err = client.Update(c.ctx, copied.Name, body, metav1.UpdateOptions{}, "status")
	return err
}

func (c *copying) eachTarget(do func(namespace string) error) {
	c.Helper()
	todo := make(chan func() error, c.targets())
	for _, namespace := range c.existing {
		todo <- func() error { return do(namespace) }
	}
	close(todo)
	c.do(todo)
}
