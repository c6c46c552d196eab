package integration

import (
	"bytes"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// order asks for a rotation.
func (e *env) order(value string) {
	e.Helper()
	e.edit("operator.v1", func(c *operatorsv1alpha1.ClusterServiceVersion) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, vocabulary.AnnotationRotate, value)
	})
}

func (e *env) rotation() managerv1alpha1.CertificateStatus {
	e.Helper()
	for _, d := range e.rollout("operator.v1").Deployments {
		if d.Certificate != nil {
			return *d.Certificate
		}
	}
	return managerv1alpha1.CertificateStatus{}
}

// rotates waits until a generation is the only one.
func (e *env) rotates(generation int64) {
	e.Helper()
	e.eventually("the certificate is rotated", func() (bool, any) {
		c := e.rotation()
		return c.Generation == generation && e.rotated(), c
	})
}

// A rotation that somebody orders goes through all phases, tells of each, and at no time
// is there a key in the cluster that could sign.
func TestRotation(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.runDeployments()
	m := e.manage(func(o *controller.Options) { o.Certificates.Settle = 1100 * time.Millisecond })
	e.install(csv("operator.v1", "server"))
	before, trust := e.servingCA(), e.watchTrust()
	began, due := e.get("operator.v1").Status.CertsLastUpdated, e.get("operator.v1").Status.CertsRotateAt
	template := e.deployment("server").Spec.Template.Annotations[vocabulary.AnnotationCAHash]

	e.order("once")
	m.emits("Normal CertificateDistributing")
	e.rotates(2)
	m.emits("Normal CertificateStable")
	trust.neverWithout(before, e.servingCA())
	trust.noCAKeys()
	if bytes.Equal(before, e.servingCA()) {
		t.Error("the CA is that of before")
	}
	if again := e.deployment("server").Spec.Template.Annotations[vocabulary.AnnotationCAHash]; again != template {
		t.Error("the pods were restarted, and there was none that served the certificate of before")
	}
	e.eventually("the ClusterServiceVersion says when its certificates began and are due", func() (bool, any) {
		s := e.get("operator.v1").Status
		return began != nil && due != nil && !s.CertsLastUpdated.Before(began) && !s.CertsRotateAt.Equal(due) && s.CertsRotateAt.After(s.CertsLastUpdated.Time), s
	})
	m.looksAgain("operator.v1")
	if c := e.rotation(); c.Generation != 2 || c.Phase != managerv1alpha1.CertificateStable {
		t.Errorf("an order that was followed is followed again: %+v", c)
	}
}

// A compromised CA is not trusted any more at once.
func TestRotationOfACompromisedCA(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.runDeployments()
	p := e.playPod()
	e.manage(graceOf(time.Hour))
	e.install(p.csv())
	p.start()
	before := e.servingCA()
	e.order(vocabulary.RotateCompromised + " once")
	e.eventually("the CA is not trusted any more, whatever pods serve", func() (bool, any) {
		ca := e.servingCA()
		return !e.trusts(before) && e.trusts(ca) && !bytes.Equal(before, ca), string(ca)
	})
	e.eventually("the status says what that costs", func() (bool, any) {
		return strings.Contains(e.rotation().Message, "calls to it fail until it does"), e.rotation()
	})
	p.reload()
	e.rotates(2)
}

// The CA of before is trusted as long as a pod serves under it, and the pod's kubelet is
// made to look.
func TestRotationWaitsForPods(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.runDeployments()
	p := e.playPod()
	m := e.manage(graceOf(time.Hour))
	e.install(p.csv())
	p.start()
	before := e.servingCA()
	e.order("once")
	m.emits("Normal CertificatePromoting")
	e.eventually("the pod's kubelet is made to look", func() (bool, any) {
		annotations := p.get().Annotations
		return annotations[vocabulary.AnnotationNudge] != "", annotations
	})
	e.eventually("the WebhookRollout says who does not serve the new certificate", func() (bool, any) {
		c := e.rotation()
		return c.Endpoints == "0/1 new, 1 old, 0 unknown" && strings.Contains(c.Message, "pod "+e.namespace+"/server-0 serves another certificate"), c
	})
	m.looksAgain("operator.v1")
	if !e.trusts(before) || !e.trusts(e.servingCA()) {
		t.Error("the webhook does not trust what its pod serves, or will serve")
	}
	if e.deployment("server").Spec.Template.Annotations[vocabulary.AnnotationRestartedFor] != "" {
		t.Error("the pods are restarted before the time is over that they have to reload")
	}
	p.reload()
	e.rotates(2)
}

// Pods that do not reload are restarted, by their template.
func TestRotationRestartsPods(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.runDeployments()
	p := e.playPod()
	e.manage(graceOf(time.Second))
	e.install(p.csv())
	p.start()
	before := e.servingCA()
	e.order("once")
	e.eventually("the pods are restarted", func() (bool, any) {
		annotations := e.deployment("server").Spec.Template.Annotations
		return annotations[vocabulary.AnnotationRestartedFor] == "2", annotations
	})
	if !e.trusts(before) {
		t.Error("the webhook does not trust any more what its pod serves")
	}
	p.reload()
	e.rotates(2)
	if e.deployment("server").Spec.Template.Annotations[vocabulary.AnnotationRestartedFor] != "2" {
		t.Error("the pods are restarted once more")
	}
}

// A manager whose caches stand still in the middle of a rotation that another manager
// carries out never takes trust away, whichever of its caches it is.
func TestRotationBesideStaleCaches(t *testing.T) {
	for _, resource := range []string{"/secrets", "webhookconfigurations"} {
		t.Run(strings.Trim(resource, "/"), func(t *testing.T) {
			e := newParallelEnv(t)
			e.group("og", allNamespaces)
			e.runDeployments()
			config := cluster.Config()
			frozen := &freezer{resource: resource}
			config.Wrap(frozen.through)
			stale := e.manageThrough(config)
			e.install(csv("operator.v1", "server"))
			before, trust := e.servingCA(), e.watchTrust()

			frozen.freeze()
			e.manage()
			for generation, value := range []string{"once", "again"} {
				e.order(value)
				stale.looksAgain("operator.v1")
				e.rotates(int64(generation + 2))
				stale.looksAgain("operator.v1")
			}
			frozen.thaw()
			stale.looksAgain("operator.v1")
			trust.neverWithout(before, e.servingCA())
		})
	}
}

// A leader that is paused with a write on its way, and wakes up when another has led a
// rotation, takes no trust away.
func TestRotationBesideAPausedLeader(t *testing.T) {
	e := newParallelEnv(t)
	e.group("og", allNamespaces)
	e.runDeployments()
	var pause, wake sync.Once
	paused, awake := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { wake.Do(func() { close(awake) }) })
	var asleep sync.Mutex
	sleeping := false
	proxy := e.proxy(func(_ int, r *http.Request) kube.Verdict {
		asleep.Lock()
		pausing := sleeping && isRegistration(r.URL.Path)
		asleep.Unlock()
		if pausing {
			pause.Do(func() { close(paused) })
			<-awake
		}
		return kube.Pass
	})
	leader := e.manageThrough(proxy.Config())
	e.install(csv("operator.v1", "server"))
	before, trust := e.servingCA(), e.watchTrust()

	asleep.Lock()
	sleeping = true
	asleep.Unlock()
	_, err := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().Patch(e.ctx, e.registration("v.example.com").Name, types.JSONPatchType,
		[]byte(`[{"op": "replace", "path": "/webhooks/0/timeoutSeconds", "value": 7}]`), metav1.PatchOptions{})
	e.must(err)
	<-paused
	e.manage()
	e.order("once")
	e.rotates(2)
	wake.Do(func() { close(awake) })
	leader.looksAgain("operator.v1")
	e.rotates(2)
	trust.neverWithout(before, e.servingCA())
}

func graceOf(d time.Duration) func(*controller.Options) {
	return func(o *controller.Options) { o.Certificates.Grace = d }
}

// playedPod is behind server-service, and answers on an address of this machine with the
// certificate that it has loaded.
type playedPod struct {
	*env
	listener net.Listener
	mutex    sync.Mutex
	loaded   tls.Certificate
}

func (e *env) playPod() *playedPod {
	e.Helper()
	return &playedPod{env: e, listener: e.listen()}
}

// csv has a webhook behind the pod.
func (p *playedPod) csv() *operatorsv1alpha1.ClusterServiceVersion {
	c := csv("operator.v1", "server")
	c.Spec.WebhookDefinitions[0].TargetPort = new(intstr.FromInt(p.port()))
	return c
}

func (p *playedPod) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

// start plays what the kubelet does with a pod.
func (p *playedPod) start() {
	p.Helper()
	p.serve()
	p.stand()
}

// stand is a pod that runs, and serves what it may.
func (p *playedPod) stand() {
	p.Helper()
	pod, err := p.kube.CoreV1().Pods(p.namespace).Create(p.ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "server-0", Labels: map[string]string{"app": "server", vocabulary.LabelPod: "operator.v1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "example.com/server:1"}}, AutomountServiceAccountToken: new(false)},
	}, metav1.CreateOptions{})
	p.must(err)
	ip := p.listener.Addr().(*net.TCPAddr).IP.String()
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	_, err = p.kube.CoreV1().Pods(p.namespace).UpdateStatus(p.ctx, pod, metav1.UpdateOptions{})
	p.must(err)
}

// serve answers with what is mounted, until it reloads the same.
func (p *playedPod) serve() {
	p.Helper()
	p.reload()
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.NotFoundHandler(), TLSConfig: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		loaded := p.loaded
		return &loaded, nil
	}}}
	go func() { _ = server.ServeTLS(p.listener, "", "") }() // it ends with the test
	p.Cleanup(func() { _ = server.Close() })
}

// reload takes up what is mounted.
func (p *playedPod) reload() {
	p.Helper()
	certificate := p.servingCertificate()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.loaded = certificate
}

func (p *playedPod) get() *corev1.Pod {
	p.Helper()
	pod, err := p.kube.CoreV1().Pods(p.namespace).Get(p.ctx, "server-0", metav1.GetOptions{})
	p.must(err)
	return pod
}
