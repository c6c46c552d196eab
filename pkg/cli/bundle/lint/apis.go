package lint

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/csvstatus"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

// apiChecks are about the owned APIs: a cluster may have the required ones.
var apiChecks = []Check{
	{
		Code: "owned-version", Level: Error, Basis: Refused,
		Explain: `spec.customresourcedefinitions.owned names a version that the definition
in the bundle does not serve. The ClusterServiceVersion stays Pending/RequirementsNotMet.`,
		find: unservedVersions,
	},
	{
		Code: "owned-apiservice", Level: Error, Basis: Refused,
		Explain: `An owned APIService names a Deployment that does not exist, or its kinds
name two servers: an APIService has only one. The ClusterServiceVersion stays
Pending/RequirementsNotMet.`,
		find: unservedAPIs,
	},
	{
		Code: "reserved-group", Level: Error, Basis: Refused,
		Explain: `An operator that serves a version of a group of Kubernetes, OLM or this
manager would answer requests for objects that the cluster needs. Kubernetes reserves *.k8s.io,
*.kubernetes.io and names without a dot. The manager sets the ClusterServiceVersion to
Failed/OwnerConflict. Use a group of your own.`,
		find: func(s *subject) {
			for i, d := range s.CSV.Spec.APIServiceDefinitions.Owned {
				message, remedy := requirements.ReservedGroup(d.Group, builtIn())
				if message == "" {
					message, remedy = requirements.KubernetesGroup(d.Group)
				}
				if message != "" {
					s.reportCSV(fmt.Sprintf("spec.apiservicedefinitions.owned[%d].group", i), "the ClusterServiceVersion is Failed/OwnerConflict: "+message, remedy)
				}
			}
		},
	},
}

// unservedVersions leaves out definitions that the bundle does not have: OLM's library finds them.
func unservedVersions(s *subject) {
	for i, r := range requirements.CRDs(s.facts, s.CSV.Spec.CustomResourceDefinitions.Owned) {
		if s.facts.CRDs[r.Name] != nil && !csvstatus.Met(r) {
			s.reportCSV(fmt.Sprintf("spec.customresourcedefinitions.owned[%d].version", i), pending(r), "name a version that it serves, or have it serve this one")
		}
	}
}

func unservedAPIs(s *subject) {
	for i, r := range requirements.OwnedAPIServices(s.CSV) {
		name := s.CSV.Spec.APIServiceDefinitions.Owned[i].DeploymentName
		remedy := "name one of spec.install.spec.deployments"
		if csvspec.HasDeployment(s.CSV, name) {
			remedy = "give all kinds of a version the same deploymentName and containerPort, or the others another version"
		}
		if !csvstatus.Met(r) {
			s.reportCSV(fmt.Sprintf("spec.apiservicedefinitions.owned[%d].deploymentName", i), pending(r), remedy)
		}
	}
}

func builtIn() []*apiregistrationv1.APIService {
	return lists.Map(scheme.Scheme.PrioritizedVersionsAllGroups(), func(version schema.GroupVersion) *apiregistrationv1.APIService {
		return &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{wellknown.LabelAutomanaged: wellknown.AutomanagedBuiltIn}},
			Spec:       apiregistrationv1.APIServiceSpec{Group: version.Group, Version: version.Version},
		}
	})
}
