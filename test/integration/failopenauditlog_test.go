package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// opensSilent registers a webhook without a server, as an opening for all requests leaves it, and records the opening.
func opensSilent(e *env, rules ...admissionregistrationv1.RuleWithOperations) (name string) {
	e.Helper()
	name = "v." + e.namespace + ".io"
	none := admissionregistrationv1.SideEffectClassNone
	api := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	_, err := api.Create(e.ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "silent-" + e.namespace, Annotations: map[string]string{"olm-webhook-manager.io/fail-open": "All"}},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name, Rules: rules, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, FailurePolicy: new(admissionregistrationv1.Ignore), TimeoutSeconds: new(int32(1)),
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{Service: &admissionregistrationv1.ServiceReference{Namespace: e.namespace, Name: "none"}, CABundle: nil},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.namespace}},
		}},
	}, metav1.CreateOptions{})
	e.must(err)
	e.Cleanup(func() { _ = api.Delete(context.Background(), "silent-"+e.namespace, metav1.DeleteOptions{}) })
	rollouts := e.olm.WebhookRollouts(e.namespace)
	rollout, err := rollouts.Create(e.ctx, &managerv1alpha1.WebhookRollout{ObjectMeta: metav1.ObjectMeta{Name: "silent.v1"}}, metav1.CreateOptions{})
	e.must(err)
	rollout.Status.Deployments = []managerv1alpha1.DeploymentStatus{{Name: "d", State: managerv1alpha1.DeploymentAvailable, Webhooks: []managerv1alpha1.WebhookStatus{{
		Type: operatorsv1alpha1.ValidatingAdmissionWebhook, GenerateName: name, Configuration: "silent-" + e.namespace, State: managerv1alpha1.WebhookRegistered,
		FailOpen: &managerv1alpha1.FailOpen{State: managerv1alpha1.FailOpenAll, Openings: []managerv1alpha1.Opening{{
			From: metav1.NewTime(time.Now().Add(-2 * time.Minute)), AllFrom: new(metav1.NewTime(time.Now().Add(-2 * time.Minute))), Until: new(metav1.NewTime(time.Now().Add(time.Hour))),
		}}},
	}}}}
	_, err = rollouts.UpdateStatus(e.ctx, rollout, metav1.UpdateOptions{})
	e.must(err)
	return name
}

func anyOperation(group, version, resource string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{"*"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: []string{version}, Resources: []string{resource}},
	}
}

// A tenant cannot hide deletions from the audit with the log, although an API server ignores dryRun of the URL if the body has
// options, and takes the audit ID from a header.
func TestAuditOfHiddenDeletions(t *testing.T) {
	for name, hides := range map[string]func(e *env, path string) error{
		"dryRun in the URL": func(e *env, path string) error {
			return e.kube.CoreV1().RESTClient().Delete().AbsPath(path).Param("dryRun", "All").Body([]byte(`{"kind":"DeleteOptions","apiVersion":"v1"}`)).Do(e.ctx).Error()
		},
		"an audit ID of an earlier request": func(e *env, path string) error {
			return e.kube.CoreV1().RESTClient().Delete().AbsPath(path).SetHeader("Audit-ID", "chosen-"+e.namespace).Do(e.ctx).Error()
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newParallelEnv(t)
			place := auditEnd(e)
			hook := opensSilent(e, anyOperation("", "v1", "configmaps"))
			api := e.kube.CoreV1().ConfigMaps(e.namespace)
			for _, name := range []string{"plain", "hidden", "harmless", "dry"} {
				_, err := api.Create(e.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
				e.must(err)
			}
			e.eventually("API servers call the webhook", func() (bool, any) {
				start := time.Now()
				_, err := api.Patch(e.ctx, "plain", "application/merge-patch+json", fmt.Appendf(nil, `{"data":{"t":"%d"}}`, start.UnixNano()), metav1.PatchOptions{})
				e.must(err)
				return strings.Contains(fmt.Sprint(logSince(e, place)), hook), ""
			})
			path := "/api/v1/namespaces/" + e.namespace + "/configmaps/"
			e.must(e.kube.CoreV1().RESTClient().Patch("application/merge-patch+json").AbsPath(path+"harmless").SetHeader("Audit-ID", "chosen-"+e.namespace).Body([]byte(`{"data":{"a":"b"}}`)).Do(e.ctx).Error())
			e.must(api.Delete(e.ctx, "plain", metav1.DeleteOptions{}))
			e.must(api.Delete(e.ctx, "dry", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}))
			e.must(hides(e, path+"hidden"))
			if _, err := api.Get(e.ctx, "hidden", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Fatalf("the object was not deleted: %v", err)
			}
			reader := installtest.OrPanic(clusterpkg.New(cluster.Config()))
			facts, _, err := reader.Audit(e.ctx, metav1.NamespaceAll, []string{hook})
			e.must(err)
			facts.Log = logSince(e, place)
			deleted := map[string]bool{}
			for _, entry := range audit.List(facts).Entries {
				if entry.State == audit.Deleted && entry.Certainty == audit.Certain {
					deleted[entry.Name] = true
				}
			}
			same(t, "deletions", deleted, map[string]bool{"plain": true, "hidden": true})
		})
	}
}
