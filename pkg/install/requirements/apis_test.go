package requirements

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestRequiredAPIServices(t *testing.T) {
	const name = "v1.metrics.example.com"
	kind := schema.GroupVersionKind{Group: "metrics.example.com", Version: "v1", Kind: "Metric"}
	for title, test := range map[string]struct {
		service      *apiregistrationv1.APIService
		serves       bool
		status       operatorsv1alpha1.StatusReason
		message      string
		requeueAfter time.Duration
	}{
		"absent":           {nil, false, "NotPresent", "APIService is not present: install the operator that serves it", 0},
		"of another kind":  {liveAPIService(name, true), false, "NotPresent", "APIService is present, but does not serve the kind Metric", 4 * time.Second},
		"not available":    {liveAPIService(name, false), true, "NotPresent", "APIService is present, but not available: no endpoints", 0},
		"there, available": {liveAPIService(name, true), true, "Present", "", 0},
	} {
		t.Run(title, func(t *testing.T) {
			csv := installtest.Operator(nil)
			csv.Spec.APIServiceDefinitions.Required = []operatorsv1alpha1.APIServiceDescription{{Group: kind.Group, Version: kind.Version, Kind: kind.Kind}}
			facts := Facts{CSV: csv, APIs: map[schema.GroupVersionKind]bool{kind: test.serves}, APIServices: map[string]*apiregistrationv1.APIService{}}
			facts.Now = time.Unix(1000, 0)
			facts.Announced = map[schema.GroupVersion]time.Time{kind.GroupVersion(): facts.Now.Add(-4 * time.Second)}
			want := operatorsv1alpha1.RequirementStatus{
				Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService", Name: name, Status: test.status, Message: test.message,
			}
			if test.service != nil {
				facts.APIServices[name] = test.service
			}
			if test.status == "Present" {
				want.UUID = "uid"
			}
			verdict := Check(facts)
			installtest.Same(t, "requirements", []operatorsv1alpha1.RequirementStatus{want}, verdict.Requirements)
			installtest.Same(t, "requeue", test.requeueAfter, verdict.RequeueAfter)
		})
	}
}

func TestOwnedAPIServices(t *testing.T) {
	for title, test := range map[string]struct {
		deployment string
		status     operatorsv1alpha1.StatusReason
		passes     bool
	}{
		"a Deployment that exists": {"manager", "DeploymentFound", true},
		"a Deployment that is not": {"manger", "DeploymentNotFound", false},
	} {
		t.Run(title, func(t *testing.T) {
			csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")))
			csv.Spec.APIServiceDefinitions.Owned = []operatorsv1alpha1.APIServiceDescription{{Group: "g.example.com", Version: "v1", Kind: "K", DeploymentName: test.deployment}}
			verdict := Check(Facts{CSV: csv})
			if r := verdict.Requirements; len(r) != 1 || r[0].Name != "v1.g.example.com" || r[0].Status != test.status || verdict.Passes() != test.passes {
				t.Errorf("passes: %t, requirements %+v", verdict.Passes(), r)
			}
		})
	}
}

// Without aggregation there are no APIServices, and a native API may come without any.
func TestAPIsOfAnAPIServerThatStandsAlone(t *testing.T) {
	pond := schema.GroupVersionKind{Group: "g.example.com", Version: "v1", Kind: "Pond"}
	apiService := []operatorsv1alpha1.APIServiceDescription{{Group: pond.Group, Version: pond.Version, Kind: pond.Kind, DeploymentName: "manager"}}
	for title, test := range map[string]struct {
		needs        func(*operatorsv1alpha1.ClusterServiceVersionSpec)
		served       bool
		passes       bool
		requeueAfter time.Duration
	}{
		"required": {func(s *operatorsv1alpha1.ClusterServiceVersionSpec) { s.APIServiceDefinitions.Required = apiService }, true, false, 0},
		"owned":    {func(s *operatorsv1alpha1.ClusterServiceVersionSpec) { s.APIServiceDefinitions.Owned = apiService }, true, false, 0},
		"native, served": {func(s *operatorsv1alpha1.ClusterServiceVersionSpec) {
			s.NativeAPIs = []metav1.GroupVersionKind{metav1.GroupVersionKind(pond)}
		}, true, true, 0},
		"native, not served yet": {func(s *operatorsv1alpha1.ClusterServiceVersionSpec) {
			s.NativeAPIs = []metav1.GroupVersionKind{metav1.GroupVersionKind(pond)}
		}, false, false, longestAPIPause},
	} {
		t.Run(title, func(t *testing.T) {
			csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")))
			test.needs(&csv.Spec)
			verdict := Check(Facts{CSV: csv, NoAggregator: true, APIs: map[schema.GroupVersionKind]bool{pond: test.served}, Now: time.Unix(1000, 0)})
			installtest.Same(t, "passes", test.passes, verdict.Passes())
			installtest.Same(t, "it asks again after", test.requeueAfter, verdict.RequeueAfter)
		})
	}
}

func TestNativeAPIs(t *testing.T) {
	csv := installtest.Operator(nil)
	csv.Spec.NativeAPIs = []metav1.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "Pond"}}
	verdict := Check(Facts{CSV: csv, APIs: map[schema.GroupVersionKind]bool{{Group: "apps", Version: "v1", Kind: "Deployment"}: true}})
	want := []operatorsv1alpha1.RequirementStatus{
		{Group: "apps", Version: "v1", Kind: "Deployment", Name: "Deployment.v1.apps", Status: "Present", Message: "Native API exists"},
		{Version: "v1", Kind: "Pond", Name: "Pond.v1.", Status: "NotPresent", Message: "Native API does not exist"},
	}
	installtest.Same(t, "requirements", want, verdict.Requirements)
	kinds := []schema.GroupVersionKind{{Group: "apps", Version: "v1", Kind: "Deployment"}, {Version: "v1", Kind: "Pond"}}
	installtest.Same(t, "the required kinds", kinds, csvspec.RequiredAPIs(csv))
}

func liveAPIService(name string, available bool) *apiregistrationv1.APIService {
	service := &apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "uid"}}
	service.Status.Conditions = []apiregistrationv1.APIServiceCondition{{Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionTrue}}
	if !available {
		service.Status.Conditions[0].Status, service.Status.Conditions[0].Message = apiregistrationv1.ConditionFalse, "no endpoints"
	}
	return service
}

// A ClusterServiceVersion that waits for a kind polls often only after its announcement.
func TestAPIPause(t *testing.T) {
	announced := time.Unix(1000, 0)
	for since, want := range map[time.Duration]time.Duration{
		0: 250 * time.Millisecond, time.Second: time.Second, 20 * time.Second: 20 * time.Second, time.Hour: 30 * time.Second,
	} {
		installtest.Same(t, fmt.Sprintf("%s after it was announced, the pause", since), want, DiscoveryInterval(announced, announced.Add(since)))
	}
	questions := 0
	for now := announced; now.Before(announced.Add(time.Hour)); now = now.Add(DiscoveryInterval(announced, now)) {
		questions++
	}
	if questions > 130 {
		t.Errorf("%d questions in an hour", questions)
	}
}

// What the API server does not answer is an unmet requirement. For an installed CSV, the answer in its status counts.
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
			installtest.Same(t, "unmet", test.unmet, verdict.Unmet())
			installtest.Same(t, "it asks again after", longestAPIPause, verdict.RequeueAfter)
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
