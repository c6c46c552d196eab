package rollout

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

func TestVersionsHeld(t *testing.T) {
	for name, test := range map[string]struct {
		annotations map[string]string
		awaited     []string
		want        string
	}{
		"none": {nil, nil, ""},
		"by another client": {map[string]string{wellknown.AnnotationHeldVersions: "v2,v3"}, nil,
			"CustomResourceDefinition things.example.com does not serve v2, v3 yet: no ClusterServiceVersion with a live conversion webhook owns it. " +
				"Add it to spec.customresourcedefinitions.owned there. If the webhook converts to it, " +
				"run `kubectl annotate crd things.example.com olm-webhook-manager.io/crd-policy=off` and serve it"},
		"by an InstallPlan": {map[string]string{wellknown.AnnotationHeldVersions: "v3", wellknown.AnnotationHeldFor: "shop/operator.v2"}, nil,
			"CustomResourceDefinition things.example.com does not serve v3 yet: an InstallPlan added it for ClusterServiceVersion shop/operator.v2, whose conversion webhook is not live"},
		"awaited by the ClusterServiceVersion": {map[string]string{wellknown.AnnotationHeldVersions: "v2"}, []string{"things.example.com/v2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := clusterWith(t, webhookOf("server"))
			live := convertedCRD("server-service", []string{"v1"}, "v1", "-v2", "-v3")
			live.Annotations = test.annotations
			c.Observed.CRDs = map[string]*apiextensionsv1.CustomResourceDefinition{live.Name: live}
			c.Verdict.Held = test.awaited
			c.reconcile()
			message := ""
			if condition := meta.FindStatusCondition(c.Previous.Conditions, managerv1alpha1.ConditionVersionsHeld); condition != nil {
				message = condition.Message
			}
			installtest.Same(t, "the condition", test.want, message)
		})
	}
}
