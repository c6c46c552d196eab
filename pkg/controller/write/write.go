// Package write sends the steps of plans to the API server.
package write

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// Writer writes to the API server.
type Writer struct {
	clients.Set
	Now func() time.Time
}

// Send sends one step to the API server. It returns an object to create that already exists, and writes nothing.
func (w *Writer) Send(ctx context.Context, namespace string, step rollout.Step) (written, existing drift.Object, err error) {
	return w.sendAs(ctx, w.Set, namespace, step)
}

// sendAs writes with the permissions of an account, and reads with those of the manager.
func (w *Writer) sendAs(ctx context.Context, account clients.Set, namespace string, step rollout.Step) (written, existing drift.Object, err error) {
	if o, dynamic := step.Object.(*unstructured.Unstructured); dynamic {
		return w.sendDynamic(ctx, account.Dynamic, step, o)
	}
	by := &Writer{Set: account, Now: w.Now}
	written, existing, err = by.sendTyped(ctx, namespace, step)
	if step.Verb == rollout.Create && apierrors.IsAlreadyExists(err) {
		step.Verb = read
		return w.sendTyped(ctx, namespace, step)
	}
	return written, existing, err
}

// read reads an object to create that already exists.
const read rollout.Verb = "read"

func (w *Writer) sendTyped(ctx context.Context, namespace string, step rollout.Step) (written, existing drift.Object, err error) {
	switch o := step.Object.(type) {
	case *corev1.Secret:
		return send(ctx, w.Kube.CoreV1().Secrets(namespace), step, o)
	case *corev1.Service:
		return send(ctx, w.Kube.CoreV1().Services(namespace), step, o)
	case *appsv1.Deployment:
		return send(ctx, w.Kube.AppsV1().Deployments(namespace), step, o)
	case *policyv1.PodDisruptionBudget:
		return send(ctx, w.Kube.PolicyV1().PodDisruptionBudgets(namespace), step, o)
	case *rbacv1.Role:
		return send(ctx, w.Kube.RbacV1().Roles(o.Namespace), step, o)
	case *rbacv1.RoleBinding:
		return send(ctx, w.Kube.RbacV1().RoleBindings(o.Namespace), step, o)
	case *rbacv1.ClusterRole:
		return send(ctx, w.Kube.RbacV1().ClusterRoles(), step, o)
	case *rbacv1.ClusterRoleBinding:
		return send(ctx, w.Kube.RbacV1().ClusterRoleBindings(), step, o)
	case *apiregistrationv1.APIService:
		return send(ctx, w.Aggregator.ApiregistrationV1().APIServices(), step, o)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return send(ctx, w.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), step, o)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return send(ctx, w.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations(), step, o)
	default:
		return w.sendPart(ctx, step)
	}
}

// sendPart is for objects of which some fields are written, or that have no type.
func (w *Writer) sendPart(ctx context.Context, step rollout.Step) (written, existing drift.Object, err error) {
	switch o := step.Object.(type) {
	case *apiextensionsv1.CustomResourceDefinition:
		return result(w.convert(ctx, step.Live, o))
	case *corev1.Pod:
		return result(w.resyncVolumes(ctx, o))
	case *operatorsv1alpha1.ClusterServiceVersion:
		return result(w.patchCSV(ctx, step, o))
	case *metav1.PartialObjectMetadata:
		return result(o, w.setOwnersOf(ctx, o))
	default:
		return nil, nil, fmt.Errorf("no way to write a %T", o)
	}
}

// Resource is a typed client of any kind.
type Resource[T drift.Object] interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

func send[T drift.Object](ctx context.Context, client Resource[T], step rollout.Step, object T) (written, existing drift.Object, err error) {
	switch step.Verb {
	case rollout.Create:
		// An apply would change an object that no cache shows, such as a Secret of another client.
		return result(client.Create(ctx, object, metav1.CreateOptions{FieldManager: wellknown.FieldManager}))
	case read:
		existing, _, err = result(client.Get(ctx, object.GetName(), metav1.GetOptions{})) // an error comes with an empty object
		return nil, existing, err
	case rollout.Apply:
		return result(Apply(ctx, client, object, dryRun(step)))
	case rollout.Update:
		return result(client.Update(ctx, object, metav1.UpdateOptions{FieldManager: wellknown.FieldManager, DryRun: dryRun(step)}))
	case rollout.Patch:
		return result(Metadata(ctx, client, object, map[string]any{"labels": object.GetLabels()}))
	default:
		return object, nil, Delete(ctx, client, object)
	}
}

func dryRun(step rollout.Step) []string {
	if step.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Apply applies a whole object, and becomes the owner of all its fields.
func Apply[T drift.Object](ctx context.Context, client Resource[T], object T, dryRun []string) (T, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return object, err
	}
	return client.Patch(ctx, object.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: wellknown.FieldManager, Force: new(true), DryRun: dryRun})
}

// Delete removes this object, not one that has taken its name since.
func Delete[T drift.Object](ctx context.Context, client Resource[T], object T) error {
	err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{Preconditions: preconditions(object)})
	return utilerrors.FilterOut(err, apierrors.IsNotFound)
}

// preconditions of a registration name the version, too: another client may have redirected it since it was read.
func preconditions(object drift.Object) *metav1.Preconditions {
	unchanged := metav1.NewUIDPreconditions(string(object.GetUID()))
	if version := object.GetResourceVersion(); version != "" && drift.IsRegistration(object) {
		unchanged.ResourceVersion = &version
	}
	return unchanged
}

func result[T drift.Object](object T, err error) (written, existing drift.Object, _ error) {
	if err != nil {
		return nil, nil, err
	}
	return object, nil, nil
}
