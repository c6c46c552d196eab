package requirements

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// What the API server does not answer is a requirement that is not met. For one that is installed, the answer
// in its status counts.
func TestUndiscovered(t *testing.T) {
	pond := schema.GroupVersionKind{Group: "g.example.com", Version: "v1", Kind: "Pond"}
	const unanswered = "the API server has not answered which kinds it serves: see kubectl get --raw /apis/g.example.com/v1"
	for name, test := range map[string]struct {
		needs    func(*operatorsv1alpha1.ClusterServiceVersionSpec)
		recorded operatorsv1alpha1.StatusReason // in the status of one that is installed
		unmet    string
	}{
		"an APIService":                          {requiresPond, "", "APIService v1.g.example.com: APIService is present, but " + unanswered},
		"an APIService that was served":          {requiresPond, "Present", ""},
		"an APIService that was not served":      {requiresPond, "NotPresent", "APIService v1.g.example.com: APIService is present, but " + unanswered},
		"a native API":                           {needsNativePond, "", "Pond Pond.v1.g.example.com: " + unanswered},
		"a native API that was served":           {needsNativePond, "Present", ""},
		"the version of Kubernetes":              {needsKubernetes, "", "ClusterServiceVersion shop.v1: the API server has not answered which version it is: see kubectl get --raw /version"},
		"the version of Kubernetes that was met": {needsKubernetes, "Present", ""},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil)
			test.needs(&csv.Spec)
			facts := Facts{
				CSV: csv, Now: time.Unix(1000, 0), APIs: map[schema.GroupVersionKind]bool{pond: false},
				APIServices:  map[string]*apiregistrationv1.APIService{"v1.g.example.com": liveAPIService("v1.g.example.com", true)},
				Undiscovered: map[schema.GroupVersion]bool{pond.GroupVersion(): true},
			}
			if facts.Began = test.recorded != ""; facts.Began {
				csv.Status.RequirementStatus = Check(facts).Requirements
				csv.Status.RequirementStatus[0].Status = test.recorded
			}
			verdict := Check(facts)
			if got := verdict.Unmet(); got != test.unmet {
				t.Errorf("not met: %q, want %q", got, test.unmet)
			}
			if verdict.RequeueAfter != longestAPIPause {
				t.Errorf("asks again in %s", verdict.RequeueAfter)
			}
		})
	}
}

func requiresPond(s *operatorsv1alpha1.ClusterServiceVersionSpec) {
	s.APIServiceDefinitions.Required = []operatorsv1alpha1.APIServiceDescription{{Group: "g.example.com", Version: "v1", Kind: "Pond"}}
}

func needsNativePond(s *operatorsv1alpha1.ClusterServiceVersionSpec) {
	s.NativeAPIs = []metav1.GroupVersionKind{{Group: "g.example.com", Version: "v1", Kind: "Pond"}}
}

func needsKubernetes(s *operatorsv1alpha1.ClusterServiceVersionSpec) { s.MinKubeVersion = "1.20.0" }
