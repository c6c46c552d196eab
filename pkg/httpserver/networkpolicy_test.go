package httpserver

import (
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The manifests contain a NetworkPolicy that lets no pod connect to the manager's servers, and those for
// monitoring one for the port of the metrics alone.
func TestManifestsLimitIngress(t *testing.T) {
	read := func(file string, into any) {
		t.Helper()
		text := installtest.OrPanic(os.ReadFile("../../manifests/" + file))
		installtest.Must(t, yaml.UnmarshalStrict(text, into))
	}
	var manager appsv1.Deployment
	read("manager/deployment.yaml", &manager)
	pods := manager.Spec.Template.Labels
	for folder, ports := range map[string][]string{"manager": nil, "monitoring": {"metrics"}} {
		var kustomization struct {
			Resources []string `json:"resources"`
		}
		text := installtest.OrPanic(os.ReadFile("../../manifests/" + folder + "/kustomization.yaml"))
		installtest.Must(t, yaml.Unmarshal(text, &kustomization))
		installtest.Among(t, kustomization.Resources, "networkpolicy.yaml")
		var policy networkingv1.NetworkPolicy
		read(folder+"/networkpolicy.yaml", &policy)
		installtest.Same(t, folder+": kind", "NetworkPolicy", policy.Kind)
		installtest.Same(t, folder+": policyTypes", []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}, policy.Spec.PolicyTypes)
		for key, value := range policy.Spec.PodSelector.MatchLabels {
			installtest.Same(t, folder+": label "+key+" of the pods", value, pods[key])
		}
		installtest.None(t, folder+": expressions of the selector", policy.Spec.PodSelector.MatchExpressions)
		var open []string
		for _, rule := range policy.Spec.Ingress {
			if len(rule.From) == 0 || len(rule.Ports) == 0 {
				t.Errorf("%s: a rule lets every client connect, or to every port: %v", folder, rule)
			}
			for _, port := range rule.Ports {
				open = append(open, port.Port.StrVal)
			}
		}
		installtest.Same(t, folder+": ports", ports, open)
		for _, name := range open {
			named := func(p corev1.ContainerPort) bool { return p.Name == name }
			if !slices.ContainsFunc(manager.Spec.Template.Spec.Containers[0].Ports, named) {
				t.Errorf("%s: the manager has no port %q", folder, name)
			}
		}
	}
	var limited struct {
		Resources []string `json:"resources"`
	}
	text := installtest.OrPanic(os.ReadFile("../../manifests/limited/kustomization.yaml"))
	installtest.Must(t, yaml.Unmarshal(text, &limited))
	installtest.Among(t, limited.Resources, "../manager")
}
