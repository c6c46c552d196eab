package takeover

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/takeover"
)

// write does one write. It is repeated after an interruption, so an object that no longer exists is no error.
func (t *target) write(ctx context.Context, w takeover.Write) error {
	var err error
	switch w.Verb {
	case takeover.SetOrder:
		err = t.setOrder(ctx, w)
	case takeover.Scale:
		err = t.scale(ctx, w)
	case takeover.Delete:
		err = t.delete(ctx, w.Object)
	}
	if err = utilerrors.FilterOut(err, apierrors.IsNotFound); err != nil {
		return fmt.Errorf("%s: %w", w, err)
	}
	return nil
}

// setOrder writes the label. null deletes it.
func (t *target) setOrder(ctx context.Context, w takeover.Write) error {
	var value any
	if w.Value != "" {
		value = w.Value
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{wellknown.LabelTakeover: value}}})
	if err != nil {
		return err
	}
	_, err = t.Metadata.Resource(cluster.ClusterServiceVersions).Namespace(w.Object.Namespace).Patch(ctx, w.Object.Name, types.MergePatchType, patch, patched)
	return err
}

func (t *target) scale(ctx context.Context, w takeover.Write) error {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%s}}`, w.Value)
	_, err := t.Kube.AppsV1().Deployments(w.Object.Namespace).Patch(ctx, w.Object.Name, types.MergePatchType, patch, patched, "scale")
	return err
}

var patched = metav1.PatchOptions{FieldManager: wellknown.FieldManager + "-takeover"}

var resources = map[string]schema.GroupVersionResource{
	takeover.KindPolicy:  {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicies"},
	takeover.KindBinding: {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingadmissionpolicybindings"},
	takeover.KindRollout: managerv1alpha1.SchemeGroupVersion.WithResource("webhookrollouts"),
}

func (t *target) delete(ctx context.Context, o takeover.Object) error {
	resource, known := resources[o.Kind]
	if !known {
		return fmt.Errorf("kind %s is not deleted", o.Kind)
	}
	return t.Metadata.Resource(resource).Namespace(o.Namespace).Delete(ctx, o.Name, metav1.DeleteOptions{})
}
