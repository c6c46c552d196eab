package integration

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func (e *env) group(name string, spec operatorsv1.OperatorGroupSpec) *operatorsv1.OperatorGroup {
	e.Helper()
	group, err := e.olm.OperatorGroups(e.namespace).Create(e.ctx,
		&operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	e.must(err)
	return group
}

func editGroup(e *env, name string, change func(*operatorsv1.OperatorGroup)) (group *operatorsv1.OperatorGroup) {
	e.Helper()
	client := e.olm.OperatorGroups(e.namespace)
	e.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		var err error
		if group, err = client.Get(e.ctx, name, metav1.GetOptions{}); err == nil {
			change(group)
			group, err = client.Update(e.ctx, group, metav1.UpdateOptions{})
		}
		return err
	}))
	return group
}

func awaitObject[O any](e *env, client interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (O, error)
}, name string) {
	e.Helper()
	e.eventually(name+" exists", func() (bool, any) {
		_, err := client.Get(e.ctx, name, metav1.GetOptions{})
		return err == nil, err
	})
}

func (e *env) create(c *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	return kube.Create(e, e.olm.ClusterServiceVersions(e.namespace), c)
}

func (e *env) edit(csv string, change func(*operatorsv1alpha1.ClusterServiceVersion)) {
	e.Helper()
	client := e.olm.ClusterServiceVersions(e.namespace)
	e.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		c, err := client.Get(e.ctx, csv, metav1.GetOptions{})
		if err == nil {
			change(c)
			_, err = client.Update(e.ctx, c, metav1.UpdateOptions{})
		}
		return err
	}))
}

// touch changes a ClusterServiceVersion in nothing that matters.
func touch(e *env, csv string) {
	e.Helper()
	e.touches++
	e.edit(csv, func(c *operatorsv1alpha1.ClusterServiceVersion) {
		metav1.SetMetaDataLabel(&c.ObjectMeta, "touched", strconv.Itoa(e.touches))
	})
}

func (e *env) get(csv string) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	return kube.Get(e, e.olm.ClusterServiceVersions(e.namespace), csv)
}

func (e *env) uninstall(csv string) {
	e.Helper()
	client := e.olm.ClusterServiceVersions(e.namespace)
	if err := client.Delete(e.ctx, csv, metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		e.must(err)
	}
	e.eventually(csv+" no longer exists", func() (bool, any) {
		c, err := client.Get(e.ctx, csv, metav1.GetOptions{})
		return apierrors.IsNotFound(err), c.Finalizers
	})
}

// reaches waits for a phase and a reason, and returns what explains it: OLM v0's message, and the cause.
func (e *env) reaches(csv string, phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason) string {
	e.Helper()
	message := ""
	e.eventually(csv+" gets "+string(phase)+"/"+string(reason), func() (bool, any) {
		s := e.get(csv).Status
		message = csvstatus.Explained(s)
		return s.Phase == phase && s.Reason == reason, [3]string{string(s.Phase), string(s.Reason), s.Message}
	})
	return message
}

// reachesSaying does the same, and checks that the explanation contains these texts.
func (e *env) reachesSaying(csv string, phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason, texts ...string) {
	e.Helper()
	message := e.reaches(csv, phase, reason)
	installtest.Contains(e, message, texts...)
}

// isUnmet waits until operator.v1 is Pending because of its requirements. The explanation begins with
// OLM v0's message and contains these texts.
func (e *env) isUnmet(texts ...string) {
	e.Helper()
	message := e.reaches("operator.v1", operatorsv1alpha1.CSVPhasePending, operatorsv1alpha1.CSVReasonRequirementsNotMet)
	installtest.Prefix(e, "the message", requirementsNotMet, message)
	installtest.Contains(e, message, texts...)
}

func (e *env) install(c *operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	e.create(c)
	e.succeeds(c.Name)
}

func (e *env) succeeds(csv string) {
	e.Helper()
	e.reaches(csv, operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVReasonInstallSuccessful)
}

func (e *env) rollout(csv string) managerv1alpha1.WebhookRolloutStatus {
	e.Helper()
	r, err := e.olm.WebhookRollouts(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return managerv1alpha1.WebhookRolloutStatus{}
	}
	e.must(err)
	return r.Status
}

func webhookStatus(e *env, csv, generateName string) managerv1alpha1.WebhookStatus {
	e.Helper()
	for _, d := range e.rollout(csv).Deployments {
		for _, w := range d.Webhooks {
			if w.GenerateName == generateName {
				return w
			}
		}
	}
	return managerv1alpha1.WebhookStatus{}
}

// webhookIs waits until the WebhookRollout reports webhook v.example.com of operator.v1 in a state and for a reason,
// either of which may be empty for any, with a message that contains these texts.
func (e *env) webhookIs(state managerv1alpha1.WebhookState, reason string, texts ...string) {
	e.Helper()
	e.eventually(fmt.Sprintf("the webhook is %s/%s, with message %q", state, reason, texts), func() (bool, any) {
		w := webhookStatus(e, "operator.v1", "v.example.com")
		return (state == "" || w.State == state) && (reason == "" || w.Reason == reason) &&
			!slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(w.Message, text) }), w
	})
}

// registered are the validating registrations of the test's Namespace, by the name of
// their webhook. A canary that is in the air is none.
func registered(e *env) map[string]admissionregistrationv1.ValidatingWebhookConfiguration {
	e.Helper()
	list := kube.List(e, e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations(), metav1.ListOptions{
		LabelSelector: "olm.owner.namespace=" + e.namespace + ",!" + wellknown.LabelCanary,
	})
	found := map[string]admissionregistrationv1.ValidatingWebhookConfiguration{}
	for _, c := range list.Items {
		found[c.Labels["olm.webhook-description-generate-name"]] = c
	}
	return found
}

func (e *env) registration(generateName string) admissionregistrationv1.ValidatingWebhookConfiguration {
	e.Helper()
	found, ok := registered(e)[generateName]
	if !ok {
		e.Fatalf("webhook %s is not registered", generateName)
	}
	return found
}

func registersNothing(e *env) {
	e.Helper()
	same(e, "registrations", len(registered(e)), 0)
}
