package prober

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A tenant whose namespace keeps API servers from answering does not keep others from being asked.
func TestChoose(t *testing.T) {
	b := &Beginnings{unusable: map[string]bool{"red": true}}
	for name, test := range map[string]struct {
		namespaces []string
		not, want  string
	}{
		"the only one":              {[]string{"red"}, "", "red"},
		"the first that is usable":  {[]string{"red", "blue", "green"}, "", "blue"},
		"another one":               {[]string{"blue", "green"}, "blue", "green"},
		"another one, not usable":   {[]string{"blue", "red"}, "blue", "red"},
		"no other one":              {[]string{"blue", "blue"}, "blue", ""},
		"no ClusterServiceVersions": {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			csvs := lists.Map(test.namespaces, func(namespace string) *operatorsv1alpha1.ClusterServiceVersion {
				return &operatorsv1alpha1.ClusterServiceVersion{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
			})
			got := ""
			if chosen := b.choose(csvs, test.not); chosen != nil {
				got = chosen.Namespace
			}
			installtest.Same(t, "namespace", test.want, got)
		})
	}
}
