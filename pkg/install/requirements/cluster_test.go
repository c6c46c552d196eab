package requirements

import (
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestMinKubeVersion(t *testing.T) {
	for name, test := range map[string]struct {
		least, served string
		met           bool
		message       string
	}{
		"older":            {"1.20.0", "v1.36.3", true, "CSV minKubeVersion (1.20.0) less than server version (v1.36.3)"},
		"with a v":         {"v1.20.0", "v1.36.3", true, "CSV minKubeVersion (v1.20.0) less than server version (v1.36.3)"},
		"the same":         {"1.36.3", "v1.36.3", true, "CSV minKubeVersion (1.36.3) less than server version (v1.36.3)"},
		"with prerelease":  {"1.19.0-0", "v1.36.3", true, "CSV minKubeVersion (1.19.0-0) less than server version (v1.36.3)"},
		"a vendor's build": {"1.36.3", "v1.36.3-gke.100", true, "CSV minKubeVersion (1.36.3) less than server version (v1.36.3-gke.100)"},
		"with metadata":    {"1.36.3", "v1.36.3+k3s1", true, "CSV minKubeVersion (1.36.3) less than server version (v1.36.3+k3s1)"},
		"newer":            {"1.37.0", "v1.36.3", false, "CSV version requirement not met: minKubeVersion (1.37.0) > server version (1.36.3)"},
		"two numbers":      {"1.20", "v1.36.3", false, `CSV version parsing error: write spec.minKubeVersion as major.minor.patch, not "1.20"`},
		"no answer":        {"1.20.0", "", false, "the API server has not answered which version it is: see kubectl get --raw /version"},
		"a strange server": {"1.20.0", "unknown", false, `Server version parsing error: the API server says that it is "unknown"`},
	} {
		t.Run(name, func(t *testing.T) {
			csv := installtest.Operator(nil)
			csv.Spec.MinKubeVersion = test.least
			verdict := Check(Facts{CSV: csv, Kubernetes: test.served})
			want := operatorsv1alpha1.RequirementStatus{
				Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion", Name: "shop.v1",
				Status: operatorsv1alpha1.RequirementStatusReasonPresentNotSatisfied, Message: test.message,
			}
			requeueAfter := longestAPIPause
			if test.met {
				want.Status = operatorsv1alpha1.RequirementStatusReasonPresent
			}
			if test.met || strings.HasPrefix(test.message, "CSV version parsing error") {
				requeueAfter = 0 // nothing but an edit ends it
			}
			installtest.Same(t, "requirements", []operatorsv1alpha1.RequirementStatus{want}, verdict.Requirements)
			if verdict.RequeueAfter != requeueAfter || verdict.Passes() != test.met {
				t.Errorf("passes: %t, requeued after %s", verdict.Passes(), verdict.RequeueAfter)
			}
		})
	}
}
