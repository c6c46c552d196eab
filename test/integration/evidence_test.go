package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/test/kube"
)

// A Service that a client edits leads to no pod that could be asked: that proves nothing of the
// pods that are called once it is repaired, and what they serve stays trusted.
func TestEvidenceBehindAnEditedService(t *testing.T) {
	for name, edit := range map[string]func(*corev1.ServiceSpec){
		"another selector":               func(s *corev1.ServiceSpec) { s.Selector = map[string]string{"app": "server", "track": "blue"} },
		"no selector":                    func(s *corev1.ServiceSpec) { s.Selector = nil },
		"a port that no container names": func(s *corev1.ServiceSpec) { s.Ports[0].TargetPort = intstr.FromString("webhok") },
		"another selector, and another port": func(s *corev1.ServiceSpec) {
			s.Selector, s.Ports[0].TargetPort = map[string]string{"app": "x"}, intstr.FromInt32(9)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newOperatorEnv(t)
			p, m := runPod(e, graceOf(time.Hour))
			before, trust := e.servingCA(), watchTrust(e)
			e.order("once")
			waits := func() (bool, any) {
				c := rotation(e)
				return c.Phase == managerv1alpha1.CertificatePromoting && strings.Contains(c.Message, "server-0 serves another certificate"), c
			}
			e.eventually("the pod is observed to serve the previous certificate", waits)

			services := e.kube.CoreV1().Services(e.namespace)
			service := kube.Get(e, services, "server-service")
			selector := service.Spec.Selector
			edit(&service.Spec)
			edited, err := services.Update(e.ctx, service, metav1.UpdateOptions{FieldManager: "administrator"})
			e.must(err)
			e.eventually("the Service is repaired", func() (bool, any) {
				live := kube.Get(e, services, "server-service")
				return live.ResourceVersion != edited.ResourceVersion && live.Spec.Selector["app"] == selector["app"] && len(live.Spec.Selector) == len(selector) &&
					live.Spec.Ports[0].TargetPort.IntValue() == p.port(), live.Spec
			})
			m.looksAgain("operator.v1")
			if ok, seen := waits(); !ok {
				t.Errorf("it does not wait for the pod any longer: %+v", seen)
			}
			mustTrust(e, before, e.servingCA())
			p.reload()
			rotates(e, 2)
			trust.neverWithout(before, e.servingCA())
		})
	}
}
