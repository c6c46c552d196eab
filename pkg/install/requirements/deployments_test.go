package requirements

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/csvspec"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// One ClusterServiceVersion has a Deployment; each of any two gets the same answer.
func TestOneActiveVersionForEachDeployment(t *testing.T) {
	elder, younger := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager"))), installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager")))
	elder.Name, elder.UID, elder.CreationTimestamp = "elder", "1", metav1.Unix(1000, 0)
	younger.Name, younger.UID, younger.CreationTimestamp = "younger", "2", metav1.Unix(2000, 0)
	stranger := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("server")))
	stranger.Name, stranger.UID = "stranger", "3"
	of := func(csv *operatorsv1alpha1.ClusterServiceVersion) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: csvspec.OwnedMeta(csv, "manager")}
	}
	for name, test := range map[string]struct {
		live                     *appsv1.Deployment
		elderBegan, youngerBegan bool
		elderWaits, youngerWaits string
	}{
		"not begun":                              {nil, false, false, "", ""},
		"the elder has begun":                    {nil, true, false, "", "elder"},
		"the younger has begun":                  {nil, false, true, "younger", ""},
		"both have begun, and neither has it":    {nil, true, true, "", "elder"},
		"the Deployment is the elder's":          {of(elder), true, true, "", "elder"},
		"the Deployment is the younger's":        {of(younger), true, true, "younger", ""},
		"the Deployment is an older version's":   {of(stranger), false, true, "younger", ""},
		"the younger's, which has not begun":     {of(younger), true, false, "younger", ""},
		"an older version's, and none has begun": {of(stranger), false, false, "", ""},
	} {
		ask := func(csv, other *operatorsv1alpha1.ClusterServiceVersion, active, otherActive bool) Verdict {
			live := map[string]*appsv1.Deployment{}
			if test.live != nil {
				live["manager"] = test.live
			}
			return Check(Facts{
				CSV: csv, Active: active, Deployments: live,
				Contenders: []scope.Claimant{{CSV: stranger, Began: true}, {CSV: other, Began: otherActive}},
			})
		}
		for csv, verdict := range map[string]struct {
			got  Verdict
			want string
		}{
			"elder":   {ask(elder, younger, test.elderBegan, test.youngerBegan), test.elderWaits},
			"younger": {ask(younger, elder, test.youngerBegan, test.elderBegan), test.youngerWaits},
		} {
			installtest.Same(t, fmt.Sprintf("%s: claimed for %s by", name, csv), verdict.want, verdict.got.ClaimedDeployments["manager"])
			installtest.Same(t, name+": "+csv+" passes", verdict.want == "", verdict.got.Passes())
			installtest.Contains(t, verdict.got.Unmet(), verdict.want)
		}
	}
}
