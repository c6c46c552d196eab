package world

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/robustness/history"
)

// pod is what a node knows about a pod.
type pod struct {
	uid, namespace, name, address string
	created                       time.Time
	deleted                       time.Time     // zero until its deletion is observed
	lag                           time.Duration // of the kubelet
	secret                        string        // mounted; empty for none
	mounted                       string        // resourceVersion that is mounted, or soon will be
	server                        *server       // nil until it starts
	stopped                       bool
	observed                      history.Serving
}

// runPods is the kubelets.
func (w *World) runPods(ctx context.Context) error {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	exist := map[string]bool{}
	var errs []error
	for _, p := range list(w.objects.pods) {
		exist[string(p.UID)] = true
		errs = append(errs, w.runPod(ctx, p))
	}
	for uid, p := range w.nodes {
		if !exist[uid] {
			p.stop()
			w.observe(p)
			delete(w.nodes, uid)
		}
	}
	return errors.Join(errs...)
}

func (w *World) runPod(ctx context.Context, p *corev1.Pod) error {
	known, ok := w.nodes[string(p.UID)]
	if !ok {
		known = w.newPod(p)
		w.nodes[string(p.UID)] = known
	}
	if p.DeletionTimestamp == nil && known.server == nil && !w.start(known) {
		return nil
	}
	if p.DeletionTimestamp != nil {
		return w.terminate(ctx, known)
	}
	w.remount(known)
	w.observe(known)
	if isReady(p) {
		return nil
	}
	changed := p.DeepCopy()
	changed.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: known.address, PodIPs: []corev1.PodIP{{IP: known.address}}, StartTime: &p.CreationTimestamp,
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		changed.Status.Conditions = append(changed.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	for _, c := range p.Spec.Containers {
		changed.Status.ContainerStatuses = append(changed.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: new(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		})
	}
	_, err := w.Kube.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return err
}

func (w *World) newPod(p *corev1.Pod) *pod {
	w.next++
	known := &pod{
		uid: string(p.UID), namespace: p.Namespace, name: p.Name, address: fmt.Sprintf("10.244.%d.%d", w.next/250, w.next%250+1), created: time.Now(),
	}
	if w.delays.Kubelet > 0 {
		known.lag = time.Duration(w.random.Int64N(int64(w.delays.Kubelet)))
	}
	for _, v := range p.Spec.Volumes {
		if v.Secret != nil {
			known.secret = v.Secret.SecretName
		}
	}
	return known
}

// start reports whether the pod runs: not before its time, and not without its Secret.
func (w *World) start(p *pod) bool {
	if wait := time.Until(p.created.Add(w.delays.Start)); wait > 0 {
		w.after(wait)
		return false
	}
	certificate, version, ok := w.mount(p)
	if !ok {
		return false
	}
	asked := func(client string) {
		if w.Observer != nil {
			w.Observer.Asks(client, p.ref())
		}
	}
	p.mounted, p.server = version, serve(certificate, asked)
	return true
}

// mount returns the certificate in the Secret of a pod; nil for a pod without a Secret. It is not ok without a certificate in the Secret.
func (w *World) mount(p *pod) (*tls.Certificate, string, bool) {
	if p.secret == "" {
		return nil, "", true
	}
	secret, err := w.objects.secrets.Secrets(p.namespace).Get(p.secret)
	if err != nil {
		return nil, "", false
	}
	pair, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, "", false // a process does not start without a certificate, and keeps the last one that it could load
	}
	return &pair, secret.ResourceVersion, true
}

// remount has a pod serve a changed Secret after the delays of the kubelet and the process.
func (w *World) remount(p *pod) {
	_, version, ok := w.mount(p)
	if !ok || version == p.mounted || w.delays.Reload < 0 {
		return
	}
	p.mounted = version
	time.AfterFunc(p.lag+w.delays.Reload, func() {
		w.mutex.Lock()
		defer w.mutex.Unlock()
		if certificate, version, ok := w.mount(p); ok {
			p.mounted = version
			p.server.load(certificate)
			w.observe(p)
		}
	})
}

// terminate stops a pod that is being deleted after the time for it, and completes its deletion.
func (w *World) terminate(ctx context.Context, p *pod) error {
	if p.deleted.IsZero() {
		p.deleted = time.Now()
	}
	if wait := time.Until(p.deleted.Add(w.delays.Stop)); p.server != nil && wait > 0 {
		w.after(wait)
		return nil
	}
	p.stop()
	w.observe(p)
	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(p.uid)}
	return ignoreAbsent(w.Kube.CoreV1().Pods(p.namespace).Delete(ctx, p.name, now))
}

func (w *World) stopPods() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, p := range w.nodes {
		p.stop()
	}
}

func (p *pod) stop() {
	p.stopped = true
	if p.server != nil {
		p.server.stop()
	}
}
