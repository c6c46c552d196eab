package execute

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/sirupsen/logrus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/webhookconfig"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/clients"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/decide"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/informers"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/metrics"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/records"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller/write"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/rollout"
)

// Another client makes each write of a Deployment fail, for example by changing it again and again. The step that closes a webhook
// precedes it in a plan, and no dry run precedes this step.
func TestClosesAlthoughWritesFail(t *testing.T) {
	deployments := appsv1.Resource("deployments")
	for name, err := range map[string]error{
		"refused":                        apierrors.NewForbidden(deployments, "manager", errors.New("exceeded quota")),
		"a conflict":                     apierrors.NewConflict(deployments, "manager", errors.New("changed")),
		"an error of the storage":        apierrors.NewInternalError(errors.New("etcdserver: request is too large")),
		"a quota that changes meanwhile": apierrors.NewConflict(appsv1.Resource("resourcequotas"), "quota", errors.New("changed")),
		"too many requests":              apierrors.NewTooManyRequests("busy", 1),
	} {
		t.Run(name, func(t *testing.T) {
			open := openRegistration()
			closed := open.DeepCopy()
			webhookconfig.Close(closed, new(admissionregistrationv1.Fail), new(int32(10)))
			live := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager", UID: "1", ResourceVersion: "1"}}
			kube := fake.NewClientset(open, live)
			kube.PrependReactor("update", "deployments", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
			r := runWith(clients.Set{Kube: kube})
			steps := []rollout.Step{
				{Verb: rollout.Update, Object: closed, Live: open, Desired: closed},
				{Verb: rollout.Update, Object: live, Live: live, Desired: live, NeedsDryRun: true},
			}
			_, _ = r.execute(t.Context(), decide.Plan{Plan: rollout.Plan{Steps: steps}})
			var written []string
			for _, action := range kube.Actions() {
				written = append(written, action.GetVerb()+" "+action.GetResource().Resource)
			}
			installtest.Same(t, "the writes", []string{"update validatingwebhookconfigurations", "update deployments"}, written)
		})
	}
}

// Another client changes an object again and again whose owner references the manager corrects before all other writes. A webhook
// that is open is closed all the same, because the reconciliation continues.
func TestContinuesToCloseAlthoughAnEarlyStepFails(t *testing.T) {
	service := &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager-service", UID: "1", ResourceVersion: "1"},
	}
	step := rollout.Step{Verb: rollout.Patch, Object: service, Live: service, Fields: map[string]string{"metadata.ownerReferences": ""}}
	for name, open := range map[string]bool{"a webhook is open": true, "no webhook is open": false} {
		t.Run(name, func(t *testing.T) {
			objects := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
			objects.PrependReactor("patch", "services", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, nil, apierrors.NewConflict(corev1.Resource("services"), service.Name, errors.New("changed"))
			})
			r := runWith(clients.Set{Metadata: objects})
			if open {
				r.facts.Observed.Validating = []*admissionregistrationv1.ValidatingWebhookConfiguration{openRegistration()}
			}
			continues, err := r.execute(t.Context(), decide.Plan{Plan: rollout.Plan{Steps: []rollout.Step{step}}, Continues: true})
			installtest.Same(t, "it continues", open, continues && err == nil)
			installtest.Same(t, "the number of refused steps", open, len(r.results.Learned) == 1)
			installtest.Same(t, "the reconciliation fails in the end", true, err != nil || r.deferred != nil)
		})
	}
}

func openRegistration() *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "v.shop.io", UID: "2", ResourceVersion: "1", Annotations: map[string]string{wellknown.AnnotationFailOpen: "All"}},
		Webhooks:   []admissionregistrationv1.ValidatingWebhook{{Name: "v.shop.io", FailurePolicy: new(admissionregistrationv1.Ignore)}},
	}
}

func runWith(set clients.Set) *run {
	log := logrus.New()
	log.SetOutput(io.Discard)
	now := func() time.Time { return time.Unix(1_000_000, 0) }
	e := &Executor{Records: &records.Records{}, Writes: &informers.Expectations{}, Log: logrus.NewEntry(log), Metrics: metrics.New(prometheus.NewRegistry()), Now: now}
	return &run{
		Executor: e, csv: installtest.Operator(nil), dryRuns: map[string]bool{}, executed: map[string]rollout.Verb{}, changedRoles: map[string]bool{},
		sender: &write.Sender{Writer: &write.Writer{Set: set, Now: now}},
	}
}
