package requirements

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestKubernetesGroup(t *testing.T) {
	for group, reserved := range map[string]bool{
		"": true, "apps": true, "new": true, "k8s.io": true, "metrics.k8s.io": true, "custom.metrics.K8s.io": true, "kubernetes.io": true, "a.kubernetes.io": true,
		"example.com": false, "k8s.io.example.com": false, "notk8s.io": false, "packages.operators.coreos.com": false,
	} {
		why, wayOut := KubernetesGroup(group)
		installtest.Same(t, "group "+group+" has a cause and a way out", []bool{reserved, reserved}, []bool{why != "", wayOut != ""})
	}
}

// What others serve of a group, and what Kubernetes reserves, is named with the way out.
func TestOccupiedGroup(t *testing.T) {
	others := OtherServers{
		APIServices: func(group string) []*apiregistrationv1.APIService {
			if group != "served.example.com" {
				return nil
			}
			return []*apiregistrationv1.APIService{{ObjectMeta: metav1.ObjectMeta{Name: "v1.served.example.com"}, Spec: apiregistrationv1.APIServiceSpec{Service: &apiregistrationv1.ServiceReference{Namespace: "theirs", Name: "server"}}}}
		},
		CRDs: func(group string) []*apiextensionsv1.CustomResourceDefinition {
			if group != "defined.example.com" {
				return nil
			}
			return []*apiextensionsv1.CustomResourceDefinition{{ObjectMeta: metav1.ObjectMeta{Name: "ponds.defined.example.com"}}}
		},
	}
	for group, says := range map[string][]string{
		"free.example.com":    nil,
		"served.example.com":  {"spec.apiservicedefinitions.owned", "APIService v1.served.example.com", "Service theirs/server", "name another group"},
		"defined.example.com": {"spec.apiservicedefinitions.owned", "CustomResourceDefinition ponds.defined.example.com", "name another group"},
		"metrics.k8s.io":      {"spec.apiservicedefinitions.owned", "reserved for Kubernetes", "name a group of your own"},
	} {
		why := OccupiedGroup(group, others)
		installtest.Same(t, "group "+group+" is refused", says != nil, why != "")
		for _, words := range says {
			installtest.Says(t, "group "+group, words, why)
		}
	}
}

// A newer-looking version of a group would be asked in place of the others.
func TestReservedGroup(t *testing.T) {
	of := func(group, automanaged string) *apiregistrationv1.APIService {
		s := liveAPIService("v1."+group, true)
		s.Spec.Group, s.Labels = group, map[string]string{"kube-aggregator.kubernetes.io/automanaged": automanaged}
		return s
	}
	services := []*apiregistrationv1.APIService{of("", "onstart"), of("apps", "onstart"), of("crd.example.com", "true"), of("metrics.k8s.io", "")}
	for group, reserved := range map[string]bool{
		"": true, "apps": true, "operators.coreos.com": true, "olm-webhook-manager.io": true,
		"crd.example.com": false, "metrics.k8s.io": false, "packages.operators.coreos.com": false, "new.example.com": false,
	} {
		why, wayOut := ReservedGroup(group, services)
		installtest.Same(t, "group "+group+" has a cause and a way out", []bool{reserved, reserved}, []bool{why != "", wayOut != ""})
	}
}

// One reserved group is enough to refuse them all.
func TestReservedAPI(t *testing.T) {
	apps := liveAPIService("v1.apps", true)
	apps.Spec.Group, apps.Labels = "apps", map[string]string{wellknown.LabelAutomanaged: wellknown.AutomanagedBuiltIn}
	services := func(group string) []*apiregistrationv1.APIService {
		if group == "apps" {
			return []*apiregistrationv1.APIService{apps}
		}
		return nil
	}
	csv := installtest.Owning(installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"))), "Pond", "manager", 0)
	installtest.Same(t, "why its own group is refused", "", ReservedAPI(csv, services))
	csv.Spec.APIServiceDefinitions.Owned = append(csv.Spec.APIServiceDefinitions.Owned, operatorsv1alpha1.APIServiceDescription{Group: "apps", Version: "v99", Kind: "Deployment"})
	installtest.Same(t, "apps", `group "apps" is not for operators to serve; name another one in spec.apiservicedefinitions.owned`, ReservedAPI(csv, services))
}
