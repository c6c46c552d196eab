package render

import (
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// A budget selects the pods of its Deployment, also those of the previous version, and no other pod with the labels of the
// Deployment's selector.
func TestPodsOfABudget(t *testing.T) {
	shared := map[string]string{"app.kubernetes.io/name": "shop"}
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) {
		d.Selector, d.Template.Labels = &metav1.LabelSelector{MatchLabels: shared}, maps.Clone(shared)
	})), installtest.ServedBy("manager"))
	previous := csv.DeepCopy()
	previous.Name = "shop.v0"
	renamed := previous.DeepCopy()
	renamed.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Name = "old"
	in := inputOf(csv)
	in.Config.Subscription, in.Config.Annotations = "shop", map[string]string{wellknown.AnnotationAvailabilityBudget: "maxUnavailable=1"}
	podsOf := func(version *operatorsv1alpha1.ClusterServiceVersion) labels.Set {
		of := inputOf(version)
		return Objects(of).Deployments[0].Object.Spec.Template.Labels
	}
	for name, test := range map[string]struct {
		replaced []*operatorsv1alpha1.ClusterServiceVersion
		pod      labels.Set
		want     bool
	}{
		"of the Deployment":                                     {nil, podsOf(csv), true},
		"of the previous version":                               {[]*operatorsv1alpha1.ClusterServiceVersion{previous}, podsOf(previous), true},
		"of the Deployment, in an upgrade":                      {[]*operatorsv1alpha1.ClusterServiceVersion{previous}, podsOf(csv), true},
		"of the previous version, which has no such Deployment": {[]*operatorsv1alpha1.ClusterServiceVersion{renamed}, podsOf(previous), false},
		"of another version":                                    {nil, podsOf(previous), false},
		"of a Job":                                              {nil, labels.Set{"app.kubernetes.io/name": "shop", "batch.kubernetes.io/job-name": "clean-up"}, false},
		"of another Deployment of a version":                    {nil, labels.Set{wellknown.LabelCSV: podsOf(csv)[wellknown.LabelCSV]}, false},
	} {
		budget := Budget(csv, test.replaced, in.Config, csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0])
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		installtest.Must(t, err)
		installtest.Same(t, "whether it selects a pod "+name, test.want, selector.Matches(test.pod))
	}
	installtest.Same(t, "the selector of the Deployment", metav1.LabelSelector{MatchLabels: shared}, *csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Selector)
}
