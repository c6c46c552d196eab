package backends

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// Backends are all pods and endpoints that API servers may reach, now or soon.
func TestBackends(t *testing.T) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "manager-service"}}
	pod := func(name string, phase corev1.PodPhase, ips ...string) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Status: corev1.PodStatus{Phase: phase}}
		p.Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "webhook", ContainerPort: 9443}}}}
		for _, ip := range ips {
			p.Status.PodIPs = append(p.Status.PodIPs, corev1.PodIP{IP: ip})
		}
		return p
	}
	deleting := pod("leaving", corev1.PodRunning, "10.0.0.1")
	deleting.DeletionTimestamp = new(metav1.Now())
	own := pod("own", corev1.PodRunning, "10.0.0.1")
	own.Labels = map[string]string{"pod-template-hash": "5d9"}
	own.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "manager-5d9", Controller: new(true)}}
	other := own.DeepCopy()
	other.OwnerReferences[0].APIVersion = "evil.example.com/v1"
	endpoint := func(c discoveryv1.EndpointConditions, address string) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{address}, Conditions: c, TargetRef: &corev1.ObjectReference{Namespace: "shop", Name: "gone"}}
	}
	yes, no := true, false
	serving, terminating := discoveryv1.EndpointConditions{Ready: &no, Serving: &yes}, discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &yes}
	neither := discoveryv1.EndpointConditions{Ready: &no, Serving: &no, Terminating: &no}
	for name, test := range map[string]struct {
		target    intstr.IntOrString
		families  []corev1.IPFamily
		pods      []*corev1.Pod
		endpoints []discoveryv1.Endpoint
		want      []string
	}{
		"pods, by number":                       {target: intstr.FromInt32(9443), pods: []*corev1.Pod{pod("a", corev1.PodRunning, "10.0.0.1"), deleting}, want: []string{"pod shop/a: 10.0.0.1:9443", "pod shop/leaving: 10.0.0.1:9443"}},
		"by the Service's own port":             {pods: []*corev1.Pod{pod("a", corev1.PodRunning, "10.0.0.1")}, want: []string{"pod shop/a: 10.0.0.1:443"}},
		"by name":                               {target: intstr.FromString("webhook"), pods: []*corev1.Pod{pod("a", corev1.PodRunning, "10.0.0.1")}, want: []string{"pod shop/a: 10.0.0.1:9443"}},
		"by an unknown name":                    {target: intstr.FromString("other"), pods: []*corev1.Pod{pod("a", corev1.PodRunning, "10.0.0.1")}},
		"of the Deployment, by an unknown name": {target: intstr.FromString("other"), pods: []*corev1.Pod{own}, want: []string{"pod shop/own: pod shop/own has no port that Service shop/manager-service leads to"}},
		"of a ReplicaSet of another group":      {target: intstr.FromString("other"), pods: []*corev1.Pod{other}},
		"without an address":                    {pods: []*corev1.Pod{pod("a", corev1.PodPending)}, want: []string{"pod shop/a: pod shop/a has no address yet"}},
		"terminated":                            {pods: []*corev1.Pod{pod("a", corev1.PodSucceeded, "10.0.0.1"), pod("b", corev1.PodFailed, "10.0.0.2")}},
		"of both families":                      {pods: []*corev1.Pod{pod("a", corev1.PodRunning, "10.0.0.1", "fd00::1")}, want: []string{"pod shop/a: 10.0.0.1:443 [fd00::1]:443"}},
		"of the Service's family":               {families: []corev1.IPFamily{corev1.IPv6Protocol}, pods: []*corev1.Pod{pod("a", corev1.PodRunning, "10.0.0.1", "fd00::1")}, want: []string{"pod shop/a: [fd00::1]:443"}},
		"an endpoint of a pod":                  {target: intstr.FromInt32(9443), pods: []*corev1.Pod{pod("a", corev1.PodRunning, "10.0.0.1")}, endpoints: []discoveryv1.Endpoint{endpoint(serving, "10.0.0.1")}, want: []string{"pod shop/a: 10.0.0.1:9443"}},
		"endpoints of no pod":                   {endpoints: []discoveryv1.Endpoint{endpoint(serving, "10.0.0.7"), endpoint(terminating, "10.0.0.8"), endpoint(discoveryv1.EndpointConditions{}, "10.0.0.9")}, want: []string{"pod shop/gone: 10.0.0.7:9443", "pod shop/gone: 10.0.0.8:9443", "pod shop/gone: 10.0.0.9:9443"}},
		"an endpoint that is not used":          {endpoints: []discoveryv1.Endpoint{endpoint(neither, "10.0.0.7")}},
	} {
		t.Run(name, func(t *testing.T) {
			s := service.DeepCopy()
			s.Spec.IPFamilies = test.families
			s.Spec.Ports = []corev1.ServicePort{{Name: "443", Port: 443, TargetPort: test.target}}
			slice := &discoveryv1.EndpointSlice{Ports: []discoveryv1.EndpointPort{{Name: new("443"), Port: new(int32(9443))}}, Endpoints: test.endpoints}
			var got []string
			for _, b := range Of(s, test.pods, []*discoveryv1.EndpointSlice{slice}, "manager") {
				words := []string{b.What + ":"}
				for _, e := range b.Endpoints {
					words = append(words, e.Address)
					installtest.Same(t, "ServerName", "manager-service.shop.svc", e.ServerName)
					installtest.Same(t, "Deployment", "manager", e.Deployment)
				}
				if len(b.Endpoints) == 0 {
					words = append(words, b.Message)
				}
				got = append(got, strings.Join(words, " "))
			}
			installtest.Same(t, "backends", test.want, got)
		})
	}
}

// The desired Service determines the probed pods, with all selectors of pods that are called before or after an edit.
func TestProbedService(t *testing.T) {
	desired := &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "manager"}}}
	live := &corev1.Service{Spec: corev1.ServiceSpec{Selector: map[string]string{"app": "other"}, IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol}}}
	deployment := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}}}
	probed := ProbedService(desired, live)
	if probed.Spec.Selector["app"] != "manager" || len(probed.Spec.IPFamilies) != 1 || len(desired.Spec.IPFamilies) > 0 {
		t.Errorf("probed are the pods of %+v", probed.Spec)
	}
	if ProbedService(nil, live) != live || ProbedService(desired, nil) != desired || ProbedService(nil, nil) != nil {
		t.Error("with only one Service, that one is not probed")
	}
	installtest.Same(t, "selectors", []string{"app=manager", "app=other", "app"}, PodSelectors(probed, live, deployment))
	live.Spec.Selector, deployment.Spec.Selector = nil, &metav1.LabelSelector{MatchLabels: map[string]string{"app": "manager"}}
	installtest.Same(t, "selectors without doubles, and none for a Service that has none", []string{"app=manager"}, PodSelectors(probed, live, deployment))
}

// The record of kept ports is read as it was written.
func TestKeptPorts(t *testing.T) {
	record := KeptPorts{Kept: []KeptPort{{Port: 443, TargetPort: intstr.FromInt32(9443)}}}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{wellknown.AnnotationKeptPorts: record.String()}}}
	installtest.Same(t, "record", record, KeptPortsOf(service))
	kept, _ := record.Find(443)
	installtest.Same(t, "kept port", record.Kept[0], kept)
}
