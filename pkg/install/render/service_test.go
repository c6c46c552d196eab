package render

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/names"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestServicePorts(t *testing.T) {
	type ports []struct {
		container int32
		target    any // nil, int or string
	}
	for name, test := range map[string]struct {
		webhooks ports
		want     []string // "name: port to targetPort"
		called   []int32  // the port of each webhook
	}{
		"the container's port":               {ports{{8443, nil}}, []string{"8443: 8443 to 8443"}, []int32{8443}},
		"no port is 443":                     {ports{{0, nil}}, []string{"443: 443 to 443"}, []int32{443}},
		"another target":                     {ports{{443, 9443}}, []string{"443: 443 to 9443"}, []int32{443}},
		"no port, another target":            {ports{{0, 9443}}, []string{"443: 443 to 9443"}, []int32{443}},
		"a target by name":                   {ports{{443, "https"}}, []string{"443: 443 to https"}, []int32{443}},
		"a target of 0 is none":              {ports{{443, 0}}, []string{"443: 443 to 443"}, []int32{443}},
		"an empty target is none":            {ports{{443, ""}}, []string{"443: 443 to 443"}, []int32{443}},
		"the same pair twice":                {ports{{443, 9443}, {443, 9443}}, []string{"443: 443 to 9443"}, []int32{443, 443}},
		"the same pair, written otherwise":   {ports{{0, nil}, {443, nil}, {443, 443}}, []string{"443: 443 to 443"}, []int32{443, 443, 443}},
		"one port, two targets":              {ports{{443, 9443}, {443, 9444}}, []string{"443: 443 to 9443", "444: 444 to 9444"}, []int32{443, 444}},
		"one port, a number and a name":      {ports{{443, 9443}, {443, "9443"}}, []string{"443: 443 to 9443", "444: 444 to 9443"}, []int32{443, 444}},
		"the next port is asked for later":   {ports{{443, 9443}, {443, 9444}, {444, nil}}, []string{"443: 443 to 9443", "445: 445 to 9444", "444: 444 to 444"}, []int32{443, 445, 444}},
		"three targets, then the first":      {ports{{443, 1}, {443, 2}, {443, 3}, {443, 1}}, []string{"443: 443 to 1", "444: 444 to 2", "445: 445 to 3"}, []int32{443, 444, 445, 443}},
		"no port above the last":             {ports{{65535, 1}, {65535, 2}}, []string{"65535: 65535 to 1", "1: 1 to 2"}, []int32{65535, 1}},
		"the first port is taken, too":       {ports{{65535, 1}, {65535, 2}, {1, nil}}, []string{"65535: 65535 to 1", "2: 2 to 2", "1: 1 to 1"}, []int32{65535, 2, 1}},
		"up to the last port":                {ports{{65534, 1}, {65534, 2}}, []string{"65534: 65534 to 1", "65535: 65535 to 2"}, []int32{65534, 65535}},
		"different ports, the same target":   {ports{{443, 9443}, {8443, 9443}}, []string{"443: 443 to 9443", "8443: 8443 to 9443"}, []int32{443, 8443}},
		"a default next to another's number": {ports{{443, "https"}, {0, nil}}, []string{"443: 443 to https", "444: 444 to 443"}, []int32{443, 444}},
	} {
		t.Run(name, func(t *testing.T) {
			var webhooks []operatorsv1alpha1.WebhookDescription
			for _, port := range test.webhooks {
				webhooks = append(webhooks, installtest.ServedBy("manager", onPort(port.container, port.target)))
			}
			d := rendered(t, inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), webhooks...)))

			got := lists.Map(d.Service.Spec.Ports, func(p corev1.ServicePort) string {
				return fmt.Sprintf("%s: %d to %s", p.Name, p.Port, p.TargetPort.String())
			})
			installtest.Same(t, "ports of the Service", test.want, got)
			var called []int32
			for _, w := range d.Webhooks {
				called = append(called, w.Port)
				installtest.Same(t, "the port that the registration calls", w.Port, *validatingOf(w).Webhooks[0].ClientConfig.Service.Port)
			}
			installtest.Same(t, "ports that are called", test.called, called)
		})
	}
}

func onPort(container int32, target any) func(*operatorsv1alpha1.WebhookDescription) {
	return func(d *operatorsv1alpha1.WebhookDescription) {
		d.ContainerPort = container
		switch target := target.(type) {
		case int:
			d.TargetPort = new(intstr.FromInt(target))
		case string:
			d.TargetPort = new(intstr.FromString(target))
		}
	}
}

func TestService(t *testing.T) {
	d := rendered(t, inputOf(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")), installtest.ServedBy("manager"))))
	want := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "manager-service",
			Labels: map[string]string{
				"olm.managed": "true", "olm.owner": "shop.v1", "olm.owner.namespace": "shop", "olm.owner.kind": "ClusterServiceVersion",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "operators.coreos.com/v1alpha1", Kind: "ClusterServiceVersion", Name: "shop.v1", UID: "uid-of-shop",
				Controller: new(false), BlockOwnerDeletion: new(false),
			}},
		},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeClusterIP,
			Selector: map[string]string{"app": "manager"},
			Ports:    []corev1.ServicePort{{Name: "443", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(443)}},
		},
	}
	installtest.Same(t, "Service", want, d.Service)
}

func TestServiceSelectsThePods(t *testing.T) {
	byExpression := []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}
	template := map[string]string{"app": "manager", "part": "webhooks"}
	for name, test := range map[string]struct {
		selector *metav1.LabelSelector
		want     map[string]string
	}{
		"by labels":                 {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "manager"}}, map[string]string{"app": "manager"}},
		"by labels and expressions": {&metav1.LabelSelector{MatchLabels: map[string]string{"app": "manager"}, MatchExpressions: byExpression}, map[string]string{"app": "manager"}},
		"by expressions alone":      {&metav1.LabelSelector{MatchExpressions: byExpression}, template},
		"by nothing":                {nil, template},
	} {
		t.Run(name, func(t *testing.T) {
			spec := installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) {
				d.Selector, d.Template.Labels = test.selector, template
			})
			d := rendered(t, inputOf(installtest.Operator(installtest.Deployments(spec), installtest.ServedBy("manager"))))
			installtest.Same(t, "selector", test.want, d.Service.Spec.Selector)
		})
	}
}

func TestServiceName(t *testing.T) {
	csv := installtest.Operator(nil)
	alternate := csvspec.AlternateServiceName(csv, "manager")
	for name, test := range map[string]struct {
		primaryTaken, alternateExists bool
		want                          string
	}{
		"as OLM v0 names it":                         {false, false, "manager-service"},
		"next to a Service of the author's":          {true, false, alternate},
		"the author's Service no longer exists":      {false, true, alternate},
		"next to a Service of the author's, as ever": {true, true, alternate},
	} {
		installtest.Same(t, name+": the name of the Service", test.want, csvspec.ServiceName(csv, "manager", test.primaryTaken, test.alternateExists))
	}
	installtest.Same(t, "the alternate is the name that is taken", false, alternate == "manager-service")
}

// For every name of a Deployment, its Service has a name of its own that the API
// server accepts, and Secret, mounts and registrations all use that name.
func TestNamesOfAwkwardDeployments(t *testing.T) {
	long := strings.Repeat("long-", 12) // 60 characters
	awkward := []string{"a.b", "a-b", "1st", long + "a", long + "b", long + "a.b"}

	var specs []operatorsv1alpha1.StrategyDeploymentSpec
	var webhooks []operatorsv1alpha1.WebhookDescription
	for i, name := range awkward {
		specs = append(specs, installtest.DeploymentOf(name))
		webhooks = append(webhooks, installtest.ServedBy(name, func(d *operatorsv1alpha1.WebhookDescription) { d.GenerateName = fmt.Sprintf("v%d.example.com", i) }))
	}
	csv := installtest.Operator(specs, webhooks...)
	in := inputOf(csv)
	for _, name := range awkward {
		in.Services[name] = csvspec.ServiceName(csv, name, false, false)
	}

	services := map[string]string{}
	for _, d := range Objects(in).Deployments {
		name, service := d.Object.Name, d.Service.Name
		installtest.Same(t, fmt.Sprintf("problems of Service %q of Deployment %q", service, name), []string(nil), validation.IsDNS1035Label(service))
		alternate := validation.IsDNS1035Label(csvspec.AlternateServiceName(csv, name))
		installtest.Same(t, fmt.Sprintf("problems of the alternate Service of Deployment %q", name), []string(nil), alternate)
		if other, taken := services[service]; taken {
			t.Errorf("Deployments %q and %q share Service %q", name, other, service)
		}
		services[service] = name

		secret := names.Secret(service)
		pod := d.Object.Spec.Template.Spec
		got := []string{
			d.SecretName, d.Role.Name, d.RoleBinding.Name, d.Role.Rules[0].ResourceNames[0],
			pod.Volumes[0].Secret.SecretName, pod.Volumes[1].Secret.SecretName,
		}
		installtest.Same(t, fmt.Sprintf("names of the Secret of Deployment %q", name), []string{secret, secret, secret, secret, secret, secret}, got)
		installtest.Same(t, "the called Service of "+name, service, validatingOf(d.Webhooks[0]).Webhooks[0].ClientConfig.Service.Name)
	}
}

func TestTargetPort(t *testing.T) {
	installtest.Same(t, "the default", intstr.FromInt32(443), TargetPort(installtest.ServedBy("manager")))
	named := installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) { d.TargetPort = new(intstr.FromString("webhook")) })
	installtest.Same(t, "the declared one", intstr.FromString("webhook"), TargetPort(named))
}
