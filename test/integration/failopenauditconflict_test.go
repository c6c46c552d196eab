package integration

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/audit"
	clusterpkg "github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/cluster"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A tenant cannot hide a deletion in a deletion of a collection that ends in a conflict: the options of the body name the resource
// version of the first object, which the second one does not have. API servers delete the first one, and answer 409.
func TestAuditOfADeletionThatEndsInAConflict(t *testing.T) {
	e := newParallelEnv(t)
	place := auditEnd(e)
	hook := opensSilent(e, anyOperation("", "v1", "configmaps"))
	api := e.kube.CoreV1().ConfigMaps(e.namespace)
	group := map[string]string{"group": "one"}
	for _, name := range []string{"a-victim", "b-decoy"} {
		_, err := api.Create(e.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: group}}, metav1.CreateOptions{})
		e.must(err)
	}
	_, err := api.Create(e.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "plain"}}, metav1.CreateOptions{})
	e.must(err)
	e.eventually("API servers call the webhook", func() (bool, any) {
		_, err := api.Patch(e.ctx, "plain", "application/merge-patch+json", fmt.Appendf(nil, `{"data":{"t":"%d"}}`, time.Now().UnixNano()), metav1.PatchOptions{})
		e.must(err)
		return strings.Contains(fmt.Sprint(logSince(e, place)), hook), ""
	})
	victim, err := api.Get(e.ctx, "a-victim", metav1.GetOptions{})
	e.must(err)
	err = api.DeleteCollection(e.ctx, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &victim.ResourceVersion}}, metav1.ListOptions{LabelSelector: "group=one"})
	if !apierrors.IsConflict(err) {
		t.Fatalf("control: the answer is %v", err)
	}
	if _, err := api.Get(e.ctx, "a-victim", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Fatalf("control: the object was not deleted: %v", err)
	}
	reader := installtest.OrPanic(clusterpkg.New(cluster.Config()))
	facts, _, err := reader.Audit(e.ctx, metav1.NamespaceAll, []string{hook})
	e.must(err)
	facts.Log = logSince(e, place)
	report := audit.List(facts)
	deleted := 0
	for _, entry := range report.Entries {
		if entry.State == audit.Deleted {
			deleted++
		}
	}
	if deleted == 0 {
		t.Errorf("the deletion is not listed; notes %q", report.Notes)
	}
}
