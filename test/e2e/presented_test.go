package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

func presentedBy(ctx context.Context, ip string) (*x509.Certificate, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(ip, "9443"))
	if err != nil {
		return nil, err
	}
	presented := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
	return presented, connection.Close()
}

func hookPods(e *env) (staying []corev1.Pod) {
	e.Helper()
	pods := kube.List(e, kubeClient.CoreV1().Pods(e.namespace), metav1.ListOptions{LabelSelector: "app=hook"})
	return lists.Filter(pods.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp == nil })
}

// follow is how many pods there are that stay, and what those do that do not answer with the
// certificate that they are to serve.
func follow(e *env) (pods int, instead map[string]string) {
	e.Helper()
	current, _ := pem.Decode([]byte(leaf(e)))
	staying := hookPods(e)
	instead = map[string]string{}
	for _, pod := range staying {
		if pod.Status.PodIP == "" {
			continue // no call can reach it, and it will mount what the Secret holds when it starts
		}
		switch presented, err := presentedBy(e.ctx, pod.Status.PodIP); {
		case err != nil:
			instead[pod.Name] = err.Error()
		case !bytes.Equal(presented.Raw, current.Bytes):
			instead[pod.Name] = "serves a certificate of " + presented.Issuer.String()
		}
	}
	return len(staying), instead
}

// haveFollowed fails unless each pod serves the current certificate by now. There are so many
// of them once rolling updates have ended.
func (e *env) haveFollowed(want int) {
	e.Helper()
	if pods, instead := follow(e); pods == 0 || len(instead) > 0 {
		e.Errorf("not each of %d pods serves the current certificate: %v", pods, instead)
	}
	e.eventually(fmt.Sprintf("there are %d pods", want), func() (bool, any) { pods := len(hookPods(e)); return pods == want, pods })
}

// takeUp waits until so many pods serve the current certificate, and has their kubelets re-sync
// at once, as the manager does where it is asked to see to certificates.
func takeUp(e *env, pods int) {
	e.Helper()
	var logged time.Time
	e.eventually("pods take up the certificate", func() (bool, any) {
		if time.Since(logged) > time.Second {
			logged = time.Now()
			haveKubeletsLook(e)
		}
		there, instead := follow(e)
		return there == pods && len(instead) == 0, instead
	})
}

func haveKubeletsLook(e *env) {
	e.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{"e2e.example.com/look":%q}}}`, time.Now().Format(time.RFC3339Nano))
	for _, pod := range hookPods(e) {
		kube.Patch(e, kubeClient.CoreV1().Pods(e.namespace), pod.Name, types.MergePatchType, []byte(patch))
	}
}
