package e2e

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/certs"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/calls"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

var allLosses = flag.Bool("all-losses", false, "lose the Secret of a certificate under load in each way that there is, and not in two")

const (
	hookCertificate = "hook-service-cert"
	// between is how long after each other the webhook is called while its certificate is
	// replaced: a hundred times a second.
	between = 10 * time.Millisecond
)

// A rotation that an administrator orders costs no call with any server. The kubelet has its defaults, and would take a
// minute. Nothing else runs meanwhile: a call that is late may miss a loss.
func TestRotationUnderLoad(t *testing.T) {
	if _, err := plugin(); err != nil { // built before there is a load
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		flags    []string
		do       func(*env) (generation int64) // that follows
		pods     int                           // in the end, if not 2
		slow     bool                          // do needs the phase Distributing for some seconds
		restarts bool
		foreign  bool // another client's certificate is in the Secret for a moment
		campaign bool // only with -all-losses
	}{
		"a server that reloads":                    {flags: []string{"--reload"}, do: orderedWhile(func(*env) {})},
		"a server that drains and does not reload": {flags: []string{"--drain"}, do: orderByCommand, restarts: true},
		"a rolling update meanwhile":               {flags: []string{"--reload", "--drain"}, do: orderedWhile(rollingUpdate), slow: true},
		"a scale-up meanwhile":                     {flags: []string{"--reload"}, do: orderedWhile(distributing(scaleUp)), pods: 4, slow: true},
		"the Secret deleted":                       {flags: []string{"--reload"}, do: loseCertificate},
		"the Secret emptied":                       {flags: []string{"--reload"}, do: emptyCertificate, campaign: true},
		"the Secret foreign":                       {flags: []string{"--reload"}, do: replaceCertificate, foreign: true, campaign: true},
		"the Secret recreated by another client":   {flags: []string{"--reload"}, do: remakeCertificate, foreign: true},
	} {
		if test.campaign && !*allLosses {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			e.create(hookCSV("hook.v1", draining(server("hook", test.flags...))))
			e.succeeds("hook.v1")
			if test.slow {
				missAnAPIServer(e)
			}
			haveKubeletsLook(e) // by themselves they do not for a minute
			load := calls.Start(e, between, func(ctx context.Context) calls.Call { return e.call(ctx, true) })
			load.GoesOn(calls.Denied)
			record, excused := func([]calls.Call) {}, calls.Never
			switch {
			case name == "a server that reloads":
				record = recordTimeline(e).leads
			case test.foreign:
				excused = recordTimeline(e).servesAnother
			}
			began := time.Now()
			rotatesSince(e, began, test.do(e))
			e.haveFollowed(cmp.Or(test.pods, 2))
			load.GoesOn(calls.Denied)
			load.End(excused)
			record(load.Calls())
			installtest.Same(t, "the manager restarted the pods", test.restarts, hookTemplate(e)[wellknown.AnnotationRestartedFor] != "")
		})
	}
}

// orderedWhile orders a rotation, and does something else at once.
func orderedWhile(meanwhile func(*env)) func(*env) int64 {
	return func(e *env) int64 {
		e.Helper()
		e.order("hook.v1", "once")
		meanwhile(e)
		return 2
	}
}

// distributing does something while registrations come to trust the next certificate, and no pod may serve it yet.
func distributing(do func(*env)) func(*env) {
	return func(e *env) {
		e.Helper()
		becomes(e, "the rotation is distributing", func() managerv1alpha1.CertificatePhase { return e.certificate("hook.v1").Phase }, managerv1alpha1.CertificateDistributing)
		do(e)
		if phase := e.certificate("hook.v1").Phase; phase != managerv1alpha1.CertificateDistributing {
			e.Fatalf("the rotation is %s already, so this shows nothing of its middle", phase)
		}
	}
}

// rollingUpdate replaces the pods, and that continues when they are given the next certificate:
// the previous ones continue to serve theirs for as long as they drain.
func rollingUpdate(e *env) {
	e.Helper()
	before := podUIDs(e)
	distributing(restartHook)(e)
	e.eventually("pods are given the next certificate", func() (bool, any) {
		c := e.certificate("hook.v1")
		return c.Phase != managerv1alpha1.CertificateDistributing, c
	})
	now := podUIDs(e)
	if old, others := now.Intersection(before).Len(), now.Difference(before).Len(); old == 0 || others == 0 {
		e.Fatalf("there are %d pods that predate the rolling update, and %d others: this shows nothing of its middle", old, others)
	}
}

func scaleUp(e *env) {
	e.Helper()
	scaleHook(e, 4)
	e.eventually("there are four pods", func() (bool, any) { pods := len(hookPods(e)); return pods == 4, pods })
}

// A manager that ends in the middle of a rotation leaves the rest to its successor.
func TestManagerRestartsDuringRotation(t *testing.T) {
	e := newEnv(t)
	e.create(hookCSV("hook.v1", draining(server("hook", "--reload"))))
	e.succeeds("hook.v1")
	missAnAPIServer(e)
	load := calls.Start(e, between, func(ctx context.Context) calls.Call { return e.call(ctx, true) })
	load.GoesOn(calls.Denied)
	began := time.Now()
	e.order("hook.v1", "once")
	e.eventually("the rotation is under way", func() (bool, any) {
		phase := e.certificate("hook.v1").Phase
		return phase != managerv1alpha1.CertificateStable, phase
	})
	killed := killLeader(e)
	if phase := e.certificate("hook.v1").Phase; phase == managerv1alpha1.CertificateStable {
		t.Fatal("the rotation was over before the manager's pod was deleted, so this shows nothing of its middle")
	}
	rotatesSince(e, began, 2)
	anotherLeadsThan(e, killed)
	e.haveFollowed(2)
	load.GoesOn(calls.Denied)
	load.End(calls.Never)
	installtest.Same(t, "the manager restarted pods that reload their certificate for generation", "", hookTemplate(e)[wellknown.AnnotationRestartedFor])
}

// A restart that costs calls is predicted, and put off until it must be. No call fails before that restart, and no more
// than restarting pods explain.
func TestRotationThatLosesCalls(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*appsv1.DeploymentSpec)
		says   string
		act    func(*env) (before time.Time) // the restart
		most   int                           // calls that fail, of a hundred each second
	}{
		"neither reloads nor drains": {
			change: func(*appsv1.DeploymentSpec) {},
			says:   "which makes calls fail if the server does not drain",
			act:    awaitRestart,
			most:   200, // a second for each of the two pods; a few were observed
		},
		"Recreate": {
			change: func(d *appsv1.DeploymentSpec) { d.Strategy.Type = appsv1.RecreateDeploymentStrategyType },
			says:   "the strategy Recreate of deployment hook ends all pods before it starts new ones: the restart waits until",
			act:    func(e *env) time.Time { before := time.Now(); restartHook(e); return before },
			most:   1500, // no pod at all for as long as a new one takes, 2 s as a rule
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEnv(t)
			spec := server("hook")
			test.change(&spec.Spec)
			e.create(hookCSV("hook.v1", spec))
			e.succeeds("hook.v1")
			load := calls.Start(e, between, func(ctx context.Context) calls.Call { return e.call(ctx, true) })
			load.GoesOn(calls.Denied)
			began := time.Now()
			e.order("hook.v1", "once")
			e.eventually("the loss is predicted", func() (bool, any) {
				message := e.certificate("hook.v1").Message
				return strings.Contains(message, test.says), message
			})
			installtest.Same(t, "calls that failed before the restart", 0, load.Count(calls.Failed))
			before := test.act(e)
			rotatesSince(e, began, 2)
			load.GoesOn(calls.Denied)
			load.End(func(c calls.Call) bool { return c.Outcome == calls.Failed && c.Answered.After(before) }) // that is what was predicted
			if n := load.Count(calls.Failed); n > test.most {
				t.Errorf("%d calls failed, want at most %d", n, test.most)
			}
		})
	}
}

func draining(spec operatorsv1alpha1.StrategyDeploymentSpec) operatorsv1alpha1.StrategyDeploymentSpec {
	spec.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(20))
	return spec
}

// order asks for a rotation by what the command "certificates rotate" writes.
func (e *env) order(csv, value string) {
	e.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, wellknown.AnnotationRotate, value)
	kube.Patch(e, olmClient.ClusterServiceVersions(e.namespace), csv, types.MergePatchType, []byte(patch))
}

func (e *env) certificate(csv string) managerv1alpha1.CertificateStatus {
	e.Helper()
	rollout := kube.Get(e, olmClient.WebhookRollouts(e.namespace), csv)
	for _, d := range rollout.Status.Deployments {
		if d.Certificate != nil {
			return *d.Certificate
		}
	}
	return managerv1alpha1.CertificateStatus{}
}

func (e *env) rotates(csv string, generation int64) {
	e.Helper()
	e.eventually(fmt.Sprintf("%s serves certificate generation %d, and trusts nothing else", csv, generation), func() (bool, any) {
		c := e.certificate(csv)
		return c.Phase == managerv1alpha1.CertificateStable && c.Generation == generation, fmt.Sprintf("%s %d %s", c.Phase, c.Generation, c.Message)
	})
}

func rotatesSince(e *env, began time.Time, generation int64) {
	e.Helper()
	e.rotates("hook.v1", generation)
	e.Logf("%s after the order, or the loss, nothing but the new certificate is trusted", time.Since(began).Round(100*time.Millisecond))
}

func hookTemplate(e *env) map[string]string {
	e.Helper()
	return kube.Get(e, kubeClient.AppsV1().Deployments(e.namespace), "hook").Spec.Template.Annotations
}

// awaitRestart waits until the manager restarts the pods, and returns an instant at which it had not yet.
func awaitRestart(e *env) (before time.Time) {
	e.Helper()
	e.eventually("the manager restarts the pods", func() (bool, any) {
		asked := time.Now()
		template := hookTemplate(e)
		if template[wellknown.AnnotationRestartedFor] != "" {
			return true, nil
		}
		before = asked
		return false, template
	})
	return before
}

func restartHook(e *env) {
	e.Helper()
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	kube.Patch(e, kubeClient.AppsV1().Deployments(e.namespace), "hook", types.StrategicMergePatchType, []byte(patch))
}

func scaleHook(e *env, replicas int32) {
	e.Helper()
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
	kube.Patch(e, kubeClient.AppsV1().Deployments(e.namespace), "hook", types.MergePatchType, []byte(patch))
}

func loseCertificate(e *env) (generation int64) {
	e.Helper()
	e.must(kubeClient.CoreV1().Secrets(e.namespace).Delete(e.ctx, hookCertificate, metav1.DeleteOptions{}))
	return 2
}

func emptyCertificate(e *env) (generation int64) {
	e.Helper()
	editCertificate(e, func(s *corev1.Secret) {
		s.Data = map[string][]byte{corev1.TLSCertKey: {}, corev1.TLSPrivateKeyKey: {}}
	})
	return 2
}

// replaceCertificate puts a pair of another client's there, whole and of a piece.
func replaceCertificate(e *env) (generation int64) {
	e.Helper()
	untrusted := untrustedCertificate(e)
	editCertificate(e, func(s *corev1.Secret) { s.Data = untrusted })
	return 2
}

// remakeCertificate is what another client does that deletes the Secret, and creates one of
// its own. The manager may be quicker, and is ordered again then.
func remakeCertificate(e *env) (generation int64) {
	e.Helper()
	secrets := kubeClient.CoreV1().Secrets(e.namespace)
	untrusted := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: hookCertificate}, Type: corev1.SecretTypeTLS, Data: untrustedCertificate(e)}
	for generation = 2; ; generation++ {
		e.must(secrets.Delete(e.ctx, hookCertificate, metav1.DeleteOptions{}))
		_, err := secrets.Create(e.ctx, untrusted, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			e.must(err)
			return generation
		}
		e.rotates("hook.v1", generation)
	}
}

// foreignGeneration identifies the certificate of another client.
const foreignGeneration = 1000

// untrustedCertificate is one that no client trusts, as a Secret holds it.
func untrustedCertificate(e *env) map[string][]byte {
	e.Helper()
	names := certs.DNSNames("hook-service", e.namespace)
	untrusted, err := certs.Mint(certs.Request{Number: foreignGeneration, Names: names, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)})
	e.must(err)
	return map[string][]byte{
		corev1.TLSCertKey: untrusted.Certificate, corev1.TLSPrivateKeyKey: untrusted.Key,
		wellknown.KeyCA: untrusted.CA, wellknown.KeyOLMCA: untrusted.CA,
	}
}

func editCertificate(e *env, edit func(*corev1.Secret)) {
	e.Helper()
	secret := kube.Get(e, kubeClient.CoreV1().Secrets(e.namespace), hookCertificate)
	edit(secret)
	kube.Update(e, kubeClient.CoreV1().Secrets(e.namespace), secret)
}
