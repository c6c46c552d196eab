package integration

import (
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/controller"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// playedPod is behind server-service, and answers on an address of this machine with the
// certificate that it has loaded.
type playedPod struct {
	*env
	listener net.Listener
	mutex    sync.Mutex
	loaded   tls.Certificate
	served   []served // everything so far
	handler  http.HandlerFunc
}

func playPod(e *env) *playedPod {
	e.Helper()
	return &playedPod{env: e, listener: listen(e), handler: permitAtValidate}
}

// runPod runs a manager that has installed the ClusterServiceVersion of a pod that serves.
func runPod(e *env, change ...func(*controller.Options)) (*playedPod, *manager) {
	e.Helper()
	p := playPod(e)
	m := e.manage(change...)
	e.install(p.csv())
	p.start()
	return p, m
}

func (p *playedPod) csv() *operatorsv1alpha1.ClusterServiceVersion {
	c := csv("operator.v1", "server")
	mutating := webhook("m.example.com", "server")
	mutating.Type = operatorsv1alpha1.MutatingAdmissionWebhook
	c.Spec.WebhookDefinitions = append(c.Spec.WebhookDefinitions, mutating)
	for i := range c.Spec.WebhookDefinitions {
		c.Spec.WebhookDefinitions[i].TargetPort = new(intstr.FromInt(p.port()))
	}
	return c
}

func (p *playedPod) port() int { return p.listener.Addr().(*net.TCPAddr).Port }

func (p *playedPod) start() {
	p.Helper()
	p.serve()
	p.stand()
}

// stand is a pod that runs, and serves what it may.
func (p *playedPod) stand() {
	p.Helper()
	p.runs(comes(p.env, "server-0"))
}

// comes is a pod that has no address yet.
func comes(e *env, name string) *corev1.Pod {
	e.Helper()
	return kube.Create(e, e.kube.CoreV1().Pods(e.namespace), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "server", wellknown.LabelCSV: "operator.v1"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "example.com/server:1"}}, AutomountServiceAccountToken: new(false)},
	})
}

// runs has a pod be called where this one listens.
func (p *playedPod) runs(pod *corev1.Pod) {
	p.Helper()
	ip := p.listener.Addr().(*net.TCPAddr).IP.String()
	status := installtest.OrPanic(json.Marshal(map[string]any{"status": corev1.PodStatus{Phase: corev1.PodRunning, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}}}}))
	kube.Patch(p, p.kube.CoreV1().Pods(p.namespace), pod.Name, types.MergePatchType, status, "status")
}

// serve answers with what is mounted, until it reloads the same.
func (p *playedPod) serve() {
	p.Helper()
	p.reload()
	server := &http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: p.handler, TLSConfig: &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		loaded := p.loaded
		return &loaded, nil
	}}}
	go func() { _ = server.ServeTLS(p.listener, "", "") }() // it ends with the test
	p.Cleanup(func() { _ = server.Close() })
}

func (p *playedPod) reload() {
	p.Helper()
	secret := certificate(p.env)
	pair := installtest.OrPanic(tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey]))
	p.noteServed(pair, number(secret.ResourceVersion))
	p.mutex.Lock()
	p.loaded = pair
	p.mutex.Unlock()
}

func (p *playedPod) follow() bool {
	p.Helper()
	if mounted := parse(certificate(p.env).Data[corev1.TLSCertKey]); mounted == nil || mounted.Equal(p.loaded.Leaf) {
		return false
	}
	p.reload()
	return true
}

func (p *playedPod) get() *corev1.Pod {
	p.Helper()
	return kube.Get(p, p.kube.CoreV1().Pods(p.namespace), "server-0")
}
