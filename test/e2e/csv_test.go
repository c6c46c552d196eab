package e2e

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func (e *env) create(csv *operatorsv1alpha1.ClusterServiceVersion) {
	e.Helper()
	kube.Create(e, olmClient.ClusterServiceVersions(e.namespace), csv)
}

func (e *env) get(csv string) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	return kube.Get(e, olmClient.ClusterServiceVersions(e.namespace), csv)
}

func reaches(e *env, csv string, phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason) string {
	e.Helper()
	var status operatorsv1alpha1.ClusterServiceVersionStatus
	e.eventually(fmt.Sprintf("%s is %s/%s", csv, phase, reason), func() (bool, any) {
		status = e.get(csv).Status
		return status.Phase == phase && status.Reason == reason, fmt.Sprintf("%s/%s: %s", status.Phase, status.Reason, csvstatus.Explained(status))
	})
	return csvstatus.Explained(status)
}

func (e *env) succeeds(csv string) time.Time {
	e.Helper()
	reaches(e, csv, operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVReasonInstallSuccessful)
	return time.Now()
}

// uninstall deletes a ClusterServiceVersion, and returns when it no longer exists with what
// garbage collection takes after it.
func (e *env) uninstall(csv string) {
	e.Helper()
	client := olmClient.ClusterServiceVersions(e.namespace)
	e.must(client.Delete(e.ctx, csv, metav1.DeleteOptions{}))
	e.eventually(csv+" and what it owned no longer exists", func() (bool, any) {
		_, err := client.Get(e.ctx, csv, metav1.GetOptions{})
		left := e.derived()
		return apierrors.IsNotFound(err) && len(left) == 0, left
	})
}
