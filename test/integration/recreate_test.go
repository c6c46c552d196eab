package integration

import (
	"encoding/json"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// Pods that do not reload, and are all ended before new ones start, are restarted when they
// must be: in the ninth tenth of the time for which they may serve what they do.
func TestRotationRestartsPodsOfRecreateLate(t *testing.T) {
	e := newOperatorEnv(t)
	p := playPod(e)
	m := e.manage(graceOf(time.Millisecond))
	recreated := p.csv()
	recreated.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	e.install(recreated)
	p.start()
	before := e.servingCA()
	e.order("once")
	e.rotationIs(managerv1alpha1.CertificatePromoting, "", "the restart waits until")
	m.looksAgain("operator.v1")
	ageRotation(e, 71*24*time.Hour) // of 90 days
	m.looksAgain("operator.v1")
	same(t, "the generation that the pods are restarted for", restartedFor(e), "")
	ageRotation(e, 11*24*time.Hour)
	e.eventually("the pods are restarted", func() (bool, any) {
		return restartedFor(e) == "2", rotation(e)
	})
	mustTrust(e, before)
	p.reload()
	rotates(e, 2)
}

func restartedFor(e *env) string {
	e.Helper()
	return e.deployment("server").Spec.Template.Annotations[wellknown.AnnotationRestartedFor]
}

func ageRotation(e *env, by time.Duration) {
	e.Helper()
	aged := map[string]string{}
	for _, name := range []string{wellknown.AnnotationPromotedAt, wellknown.AnnotationPreviousExpiresAt} {
		at, err := time.Parse(time.RFC3339Nano, certificate(e).Annotations[name])
		e.must(err)
		aged[name] = at.Add(-by).Format(time.RFC3339Nano)
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": aged}})
	e.must(err)
	_, err = e.kube.CoreV1().Secrets(e.namespace).Patch(e.ctx, servingSecret, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "administrator"})
	e.must(err)
}
