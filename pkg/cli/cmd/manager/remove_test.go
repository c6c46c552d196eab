package manager

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// The removal of a manager is for its own namespaces: other managers use the same finalizers.
func TestNamespacesOfARemovedManager(t *testing.T) {
	deploymentOf := func(args ...string) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "manager", Args: append([]string{"run"}, args...)}}
		return d
	}
	for name, test := range map[string]struct {
		options removeOptions
		d       *appsv1.Deployment
		gone    bool
		want    []string
		err     string
	}{
		"as the flag says":       {removeOptions{limited: true, namespaces: []string{"shop"}}, deploymentOf("--namespaces=mall"), false, []string{"shop"}, ""},
		"all, as the flag says":  {removeOptions{limited: true}, nil, true, nil, ""},
		"as the Deployment says": {removeOptions{}, deploymentOf("--namespaces=mall,stock"), false, []string{"mall", "stock"}, ""},
		"all by default":         {removeOptions{}, deploymentOf(), false, nil, ""},
		"no Deployment":          {removeOptions{namespace: "olm", deployment: "manager"}, nil, true, nil, "deployment olm/manager does not exist"},
	} {
		got, err := test.options.lookedAfter(test.d, test.gone)
		installtest.Same(t, name, fmt.Sprint(test.want), fmt.Sprint(got))
		installtest.Error(t, test.err, err)
	}
}
