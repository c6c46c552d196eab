package scale

import (
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// repairs deletes the registration of each of some ClusterServiceVersions, then edits it,
// and measures how long either stands.
func (e *env) repairs(m *manager, csvs []*operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	client := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	var deleted, edited []time.Duration
	for _, csv := range csvs[:100] {
		name := names.WebhookConfiguration("v.example.com", csv.Namespace, csv.Name, string(operatorsv1alpha1.ValidatingAdmissionWebhook))
		e.must(client.Delete(e.ctx, name, metav1.DeleteOptions{}))
		deleted = append(deleted, e.until(name, func(_ *admissionregistrationv1.ValidatingWebhookConfiguration) bool { return true }))

		kube.Patch(e, client, name, types.JSONPatchType, []byte(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`))
		edited = append(edited, e.until(name, func(c *admissionregistrationv1.ValidatingWebhookConfiguration) bool {
			return *c.Webhooks[0].FailurePolicy == admissionregistrationv1.Fail
		}))
	}
	for _, percent := range []int{50, 99} {
		e.ReportMetric(milliseconds(percentile(deleted, percent)), fmt.Sprintf("deleted-p%d-ms", percent))
		e.ReportMetric(milliseconds(percentile(edited, percent)), fmt.Sprintf("edited-p%d-ms", percent))
	}
	staysBelow(e.B, milliseconds(mostRepair), milliseconds(percentile(deleted, 99)), "99 of 100 that are deleted are back within", "ms")
	staysBelow(e.B, milliseconds(mostRepair), milliseconds(percentile(edited, 99)), "99 of 100 that are edited are as before within", "ms")
	e.quiet(m)
}

func (e *env) until(name string, repaired func(*admissionregistrationv1.ValidatingWebhookConfiguration) bool) time.Duration {
	e.Helper()
	return e.timed(func() {
		for {
			c, err := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(e.ctx, name, metav1.GetOptions{})
			if err == nil && repaired(c) {
				return
			}
			if err != nil && !apierrors.IsNotFound(err) {
				e.Fatal(err)
			}
		}
	})
}

func percentile(all []time.Duration, percent int) time.Duration {
	slices.Sort(all)
	return all[len(all)*percent/100]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
