package integration

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs/issuers"
)

// Another client that changes a Certificate back as often as it is written ends in a contest.
func TestContestOverACertificate(t *testing.T) {
	e := newEnv(t)
	e.certManager()
	e.group("og", allNamespaces)
	e.runDeployments()
	e.choose(managerv1alpha1.ProviderCertManager)
	ctx, stop := context.WithCancel(e.ctx)
	defer stop()
	e.changeCertificates(ctx)
	since, m := e.auditEnd(), e.manage()
	e.create(csv("operator.v1", "server"))
	e.eventually("the status says that the Certificate is contested", func() (bool, any) {
		c := meta.FindStatusCondition(e.rollout("operator.v1").Conditions, managerv1alpha1.ConditionContested)
		return c != nil && strings.Contains(c.Message, "Certificate "+e.namespace+"/"), c
	})
	writes := slices.DeleteFunc(m.writes(since), func(write string) bool { return !strings.Contains(write, "certificates") })
	if len(writes) < 2 || len(writes) > 8 {
		t.Errorf("the manager wrote its two Certificates %d times before it paused, want at most 4 times each", len(writes))
	}
}

// changeCertificates changes each Certificate that is as the manager wrote it.
func (e *env) changeCertificates(ctx context.Context) {
	e.Helper()
	certificates := e.any.Resource(issuers.Certificates).Namespace(e.namespace)
	events, err := certificates.Watch(ctx, metav1.ListOptions{})
	e.must(err)
	go func() {
		for event := range events.ResultChan() {
			object, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			if policy, there, _ := unstructured.NestedString(object.Object, "spec", "privateKey", "rotationPolicy"); !there || policy == "Never" {
				continue
			}
			_, err := certificates.Patch(ctx, object.GetName(), types.MergePatchType, []byte(`{"spec":{"privateKey":{"rotationPolicy":"Never"}}}`), metav1.PatchOptions{FieldManager: "gitops"})
			if err != nil && ctx.Err() == nil {
				e.Log(err)
			}
		}
	}()
}
