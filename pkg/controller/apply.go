package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/queue"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout/drift"
)

// news is what comes of the steps of a plan that its decision did not know.
type news int

const (
	none      news = iota
	corrected      // an answer makes the next decision another: the rest of the steps is left
	made           // all that was lacking is there now
)

// apply carries out steps in their order, until an answer makes the rest doubtful.
func (c *executor) apply(ctx context.Context, k queue.Key, s *snapshot, steps []rollout.Step) (news, error) {
	var created []drift.Object
	changed := false
	var failed error
	for _, step := range due(s, steps) {
		written, existing, err := c.writer.write(ctx, s.CSV.Namespace, step)
		c.metrics.ObserveWrite(step, err)
		switch {
		case existing != nil:
			s.Learn(existing)
			return corrected, nil
		case unanswered(err), refused(err):
			s.leaveOut(step, err)
			return corrected, nil
		case err != nil && step.Registers():
			failed = errors.Join(failed, fmt.Errorf("%s %s: %w", step.Verb, step.Key(), err)) // the others are written all the same
			continue
		case err != nil:
			return none, errors.Join(failed, fmt.Errorf("%s %s: %w", step.Verb, step.Key(), err))
		}
		c.logWrite(k, step)
		switch _, told := written.(*unstructured.Unstructured); {
		case told:
			c.noteIssuance(s, step, written)
			continue
		case step.Verb == rollout.Create:
			created = append(created, written)
		default:
			changed = true
		}
		c.remember(k, s, step, written)
	}
	if failed != nil || changed || len(created) == 0 {
		return none, failed // what was changed, the caches show
	}
	for _, o := range created {
		s.Learn(o)
		s.Observed.JustCreated[drift.KeyOf(o)] = true
	}
	return made, nil
}

// due are the steps without those for an issuer that were carried out in this pass.
func due(s *snapshot, steps []rollout.Step) []rollout.Step {
	return slices.DeleteFunc(slices.Clone(steps), func(step rollout.Step) bool { return s.written[step.Key()] == step.Verb })
}

// noteIssuance remembers a step for an issuer. The caches that show it are others than those of the pass: at worst
// the next pass repeats it.
func (c *executor) noteIssuance(s *snapshot, step rollout.Step, written drift.Object) {
	s.written[step.Key()] = step.Verb
	c.compare(s, step, written)
}

// remember notes a write for those who look before the caches show it: the rest of this
// pass, and the passes and the other decisions that follow.
func (c *executor) remember(k queue.Key, s *snapshot, step rollout.Step, written drift.Object) {
	if secret, ok := written.(*corev1.Secret); ok {
		s.Secrets[secret.Name] = secret
		if step.Verb == rollout.Delete {
			s.Secrets[secret.Name] = nil
		}
	}
	c.writes.Add(k, informers.Write{Object: written, Changed: step.Live != nil, Deleted: step.Verb == rollout.Delete, At: c.now()})
	c.compare(s, step, written)
	if step.Verb == rollout.Create {
		c.note(s, written)
	}
}

// compare remembers what became of a write, and counts it where somebody undid the one before,
// or where admission made something else of it that is not accepted.
func (c *executor) compare(s *snapshot, step rollout.Step, written drift.Object) {
	csv, object := records.NameOf(s.CSV), step.Key()
	switch {
	case step.Verb == rollout.Delete:
		c.repairs.Deleted(csv, object)
		delete(s.Observed.Writes, object)
	case step.Desired != nil:
		write := drift.WriteOf(step.Desired, written)
		c.repairs.Wrote(csv, object, write)
		s.Observed.Writes[object] = write
		if change, refused := write.Refused(); refused {
			c.repairs.Repaired(csv, object, change, c.now())
			return
		}
	}
	if step.Repairs(s.Status, s.Observed.Contests) {
		c.repairs.Repaired(csv, object, step.Drift, c.now())
	}
}

// note remembers when a registration was made.
func (c *executor) note(s *snapshot, written drift.Object) {
	if drift.IsRegistration(written) {
		now := c.now()
		s.Observed.CreationTimes[written.GetUID()] = now
		c.creationTimes.Add(written, now)
	}
}

func (c *executor) logWrite(k queue.Key, step rollout.Step) {
	log := c.log.WithFields(k.Fields()).WithField("why", step.Why())
	if webhook, ok := step.Object.GetLabels()[wellknown.LabelWebhookGenerateName]; ok {
		log = log.WithField("webhook", webhook)
	}
	log.Infof("%s %s", step.Verb, step.Key())
}

// refused tells an answer that will not change until somebody changes something.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) || apierrors.IsMethodNotSupported(err) || denied(err)
}

// denied reports whether admission denied a request. A webhook denies with any code, a
// ValidatingAdmissionPolicy also with 401 and 413: the text alone shows it.
func denied(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return false
	}
	message := status.Status().Message
	return strings.Contains(message, "denied the request") || strings.Contains(message, "denied request")
}

// write sends one step to the API server.
func (c *writer) write(ctx context.Context, namespace string, step rollout.Step) (written, existing drift.Object, err error) {
	switch o := step.Object.(type) {
	case *corev1.Secret:
		return send(ctx, c.Kube.CoreV1().Secrets(namespace), step, o)
	case *corev1.Service:
		return send(ctx, c.Kube.CoreV1().Services(namespace), step, o)
	case *appsv1.Deployment:
		return send(ctx, c.Kube.AppsV1().Deployments(namespace), step, o)
	case *rbacv1.Role:
		return send(ctx, c.Kube.RbacV1().Roles(o.Namespace), step, o)
	case *rbacv1.RoleBinding:
		return send(ctx, c.Kube.RbacV1().RoleBindings(o.Namespace), step, o)
	case *rbacv1.ClusterRole:
		return send(ctx, c.Kube.RbacV1().ClusterRoles(), step, o)
	case *rbacv1.ClusterRoleBinding:
		return send(ctx, c.Kube.RbacV1().ClusterRoleBindings(), step, o)
	case *apiregistrationv1.APIService:
		return send(ctx, c.Aggregator.ApiregistrationV1().APIServices(), step, o)
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		return send(ctx, c.Kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), step, o)
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		return send(ctx, c.Kube.AdmissionregistrationV1().MutatingWebhookConfigurations(), step, o)
	case *apiextensionsv1.CustomResourceDefinition:
		return answer(c.convert(ctx, step.Live, o))
	case *corev1.Pod:
		return answer(c.nudge(ctx, o))
	case *unstructured.Unstructured:
		return answer(c.tell(ctx, step, o))
	default:
		return nil, nil, fmt.Errorf("no way to write a %T", o)
	}
}

// resource is a typed client of any kind.
type resource[T drift.Object] interface {
	Get(context.Context, string, metav1.GetOptions) (T, error)
	Create(context.Context, T, metav1.CreateOptions) (T, error)
	Update(context.Context, T, metav1.UpdateOptions) (T, error)
	Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (T, error)
	Delete(context.Context, string, metav1.DeleteOptions) error
}

// send carries out one step. Where the object to create is there already, it is
// returned as existing, and nothing is written.
func send[T drift.Object](ctx context.Context, client resource[T], step rollout.Step, object T) (written, existing drift.Object, err error) {
	switch step.Verb {
	case rollout.Create:
		return create(ctx, client, object)
	case rollout.Apply:
		return answer(applyWhole(ctx, client, object, dryRun(step)))
	case rollout.Update:
		return answer(client.Update(ctx, object, metav1.UpdateOptions{FieldManager: wellknown.FieldManager, DryRun: dryRun(step)}))
	default:
		return object, nil, deleteExactly(ctx, client, object)
	}
}

// create makes an object that is not there. An apply would take over what a cache does not
// show: merge a Secret into somebody else's, or take trust away from a registration that
// another manager has made since.
func create[T drift.Object](ctx context.Context, client resource[T], object T) (written, existing drift.Object, err error) {
	created, err := client.Create(ctx, object, metav1.CreateOptions{FieldManager: wellknown.FieldManager})
	if !apierrors.IsAlreadyExists(err) {
		return answer(created, err)
	}
	return alreadyThere(client.Get(ctx, object.GetName(), metav1.GetOptions{}))
}

// alreadyThere is an object that was not expected. A client returns an empty one beside an error.
func alreadyThere[T drift.Object](object T, err error) (written, existing drift.Object, _ error) {
	existing, _, err = answer(object, err)
	return nil, existing, err
}

// dryRun is the option of a step that is only rehearsed.
func dryRun(step rollout.Step) []string {
	if step.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

func applyWhole[T drift.Object](ctx context.Context, client resource[T], object T, dryRun []string) (T, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return object, err
	}
	return client.Patch(ctx, object.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: wellknown.FieldManager, Force: new(true), DryRun: dryRun})
}

// deleteExactly removes this object, not one that has taken its name since.
func deleteExactly[T drift.Object](ctx context.Context, client resource[T], object T) error {
	err := client.Delete(ctx, object.GetName(), metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(object.GetUID()))})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func answer[T drift.Object](object T, err error) (written, existing drift.Object, _ error) {
	if err != nil {
		return nil, nil, err
	}
	return object, nil, nil
}
