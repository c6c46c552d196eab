package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
)

func (e *env) order(value string) {
	e.Helper()
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, wellknown.AnnotationRotate, value)
	})
}

func rotation(e *env) managerv1alpha1.CertificateStatus {
	e.Helper()
	for _, d := range e.rollout("operator.v1").Deployments {
		if d.Certificate != nil {
			return *d.Certificate
		}
	}
	return managerv1alpha1.CertificateStatus{}
}

// rotationIs waits until the WebhookRollout reports a phase and endpoints, either of which may be empty for any, with a
// message that contains these texts.
func (e *env) rotationIs(phase managerv1alpha1.CertificatePhase, endpoints string, texts ...string) {
	e.Helper()
	e.eventually(fmt.Sprintf("the rotation is %s, %s, with message %q", phase, endpoints, texts), func() (bool, any) {
		c := rotation(e)
		return (phase == "" || c.Phase == phase) && (endpoints == "" || c.Endpoints.String() == endpoints) &&
			!slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(c.Message, text) }), c
	})
}

func rotates(e *env, generation int64) {
	e.Helper()
	e.eventually("the certificate is rotated", func() (bool, any) {
		c := rotation(e)
		return c.Generation == generation && rotated(e), c
	})
}

// A rotation that an administrator orders goes through all phases, reports each, and at no time
// is there a key in the cluster that could sign.
func TestRotation(t *testing.T) {
	e := newOperatorEnv(t)
	m := e.manage(func(o *controller.Options) { o.Certificates.Settle = 1100 * time.Millisecond })
	keys := watchKeys(e)
	e.install(csv("operator.v1", "server"))
	before, trust := e.servingCA(), watchTrust(e)
	began, due := e.get("operator.v1").Status.CertsLastUpdated, e.get("operator.v1").Status.CertsRotateAt
	template := templateHash(e)

	ordered := time.Now().Truncate(time.Second) // a status reports whole seconds
	e.order("once")
	for _, phase := range []managerv1alpha1.CertificatePhase{managerv1alpha1.CertificateDistributing, managerv1alpha1.CertificatePromoting, managerv1alpha1.CertificateRetiring, managerv1alpha1.CertificateStable} {
		m.emits("Normal Certificate" + string(phase))
	}
	rotates(e, 2)
	trust.neverWithout(before, e.servingCA())
	keys.holdNoCAKey()
	if bytes.Equal(before, e.servingCA()) {
		t.Error("the CA is the previous one")
	}
	same(t, "the template of pods, none of which serves the previous certificate", templateHash(e), template)
	e.eventually("the ClusterServiceVersion reports when its certificates were renewed and are due for renewal for renewal", func() (bool, any) {
		s := e.get("operator.v1").Status
		return began != nil && due != nil && !s.CertsLastUpdated.Time.Before(ordered) && !s.CertsRotateAt.Equal(due) && s.CertsRotateAt.After(s.CertsLastUpdated.Time), s
	})
	m.looksAgain("operator.v1")
	same(t, "the generation after the order was followed", rotation(e).Generation, 2)
	same(t, "the phase after the order was followed", rotation(e).Phase, managerv1alpha1.CertificateStable)
}

func TestRotationOfACompromisedCA(t *testing.T) {
	e := newOperatorEnv(t)
	p, m := runPod(e, graceOf(time.Hour))
	before := e.servingCA()
	e.order(wellknown.RotateCompromised + " once")
	m.emits("Normal CertificatePromoting the pods of deployment server are given certificate generation 2; no CA but its own is trusted")
	e.eventually("the CA is not trusted any more, independent of what pods serve", func() (bool, any) {
		ca := e.servingCA()
		return !trusts(e, before) && trusts(e, ca) && !bytes.Equal(before, ca), string(ca)
	})
	e.eventually("the status reports what that costs", func() (bool, any) {
		return strings.Contains(rotation(e).Message, "calls to it fail until it does"), rotation(e)
	})
	p.reload()
	rotates(e, 2)
}

func graceOf(d time.Duration) func(*controller.Options) {
	return func(o *controller.Options) { o.Certificates.Grace = d }
}

// A pod that comes while others take the next certificate up may have mounted the previous one: that
// stays trusted until it has shown what it serves, when all others have long served the new certificate.
func TestScaleUpWhilePodsTakeItUp(t *testing.T) {
	e := newOperatorEnv(t)
	p, m := runPod(e, graceOf(time.Hour))
	before, trust := e.servingCA(), watchTrust(e)
	waitsFor := func(endpoints, why string) {
		t.Helper()
		e.rotationIs(managerv1alpha1.CertificatePromoting, endpoints, why)
	}
	e.order("once")
	waitsFor("0/1 new, 1 old, 0 unknown", "server-0 serves another certificate")
	came := comes(e, "server-1")
	waitsFor("0/2 new, 1 old, 1 unknown", "server-0 serves another certificate (and 1 more)")
	p.reload()
	waitsFor("1/2 new, 0 old, 1 unknown", "server-1 has no address yet")
	m.looksAgain("operator.v1")
	mustTrust(e, before, e.servingCA())
	p.runs(came)
	rotates(e, 2)
	trust.neverWithout(before, e.servingCA())
}

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
	becomes(e, "the pods are restarted", func() string { return restartedFor(e) }, "2")
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

// A certificate that expired while no manager was running, or that a clock which was set back has not
// begun, is useless: the next one is given to pods as soon as it is trusted.
func TestCertificateOfAnotherTime(t *testing.T) {
	for name, age := range map[string]time.Duration{"it ended": 91 * 24 * time.Hour, "it has not begun": -24 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			runOperator(e).stop()
			e.age(age)
			e.manage()
			rotates(e, 2)
			e.succeeds("operator.v1")
		})
	}
}
