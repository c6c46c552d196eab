package deploy

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestReadings(t *testing.T) {
	plain, hidden, nothing := &operatorsv1alpha1.ClusterServiceVersion{}, live("", "v1", "v0"), live("", "v1")
	hidden.Spec.Versions[0].Served, nothing.Spec.Versions[0].Served = false, false
	later := live("CA", "v1", "v2", "v3")
	later.Spec.Versions[0].Storage, later.Spec.Versions[2].Storage = false, true
	for name, test := range map[string]struct {
		live, next *apiextensionsv1.CustomResourceDefinition
		csv        *operatorsv1alpha1.ClusterServiceVersion
		want       []Reading
	}{
		"the same version":                                  {live("", "v1"), crd("v1"), plain, []Reading{{"v1", []string{"v1"}}}},
		"one more, which is relabelled":                     {live("", "v1"), crd("v2", "v1"), plain, []Reading{{"v1", []string{"v2", "v1"}}}},
		"one more, which a webhook converts":                {live("", "v1"), crd("v2", "v1"), converting(), []Reading{{"v1", []string{"v1"}}}},
		"two that were relabelled, until now":               {live("", "v1", "v0"), crd("v1", "v0"), converting(), []Reading{{"v1", []string{"v1", "v0"}}}},
		"two that a webhook converts":                       {live("CA", "v1", "v0"), crd("v2", "v1", "v0"), converting(), []Reading{{"v1", []string{"v1"}}, {"v0", []string{"v0"}}}},
		"the stored one is listed last":                     {later, crd("v2", "v1", "v3"), converting(), []Reading{{"v3", []string{"v3"}}, {"v1", []string{"v1"}}, {"v2", []string{"v2"}}}},
		"the stored one is not served":                      {hidden, crd("v1", "v0"), plain, []Reading{{"v0", []string{"v1", "v0"}}}},
		"the stored one is removed, and a webhook is added": {live("", "v1", "v0"), crd("v0"), converting(), []Reading{{"v1", []string{"v0"}}}},
		"no version is served":                              {nothing, crd("v1"), plain, nil},
		"no version stays":                                  {live("CA", "v1"), crd("v2"), converting(), nil},
	} {
		installtest.Same(t, name+": readings", test.want, Readings(test.live, test.next, test.csv))
	}
}
