package render

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/requirements"
)

func TestDeploymentsKeepTheirOrder(t *testing.T) {
	specs := installtest.Deployments(installtest.DeploymentOf("z"), installtest.DeploymentOf("a"), installtest.DeploymentOf("m"))
	first := installtest.ServedBy("m")
	second := installtest.ServedBy("m", func(d *operatorsv1alpha1.WebhookDescription) { d.GenerateName = "a.shop.example.com" })
	desired := Objects(inputOf(installtest.Operator(specs, first, installtest.ServedBy("z", func(d *operatorsv1alpha1.WebhookDescription) { d.GenerateName = "z.shop.example.com" }), second)))

	var got []string
	for _, d := range desired.Deployments {
		got = append(got, d.Object.Name)
		for _, w := range d.Webhooks {
			got = append(got, d.Object.Name+" "+w.Description.GenerateName)
		}
	}
	installtest.Same(t, "Deployments and webhooks", []string{"z", "z z.shop.example.com", "a", "m", "m v.shop.example.com", "m a.shop.example.com"}, got)
}

// Caches own what Objects reads.
func TestRenderLeavesItsInputAlone(t *testing.T) {
	spec := installtest.DeploymentOf("manager", func(d *appsv1.DeploymentSpec) {
		d.Template.Annotations = map[string]string{"author": "pod"}
		pod := &d.Template.Spec
		pod.Volumes = []corev1.Volume{installtest.Secret("cert", "absent"), installtest.Secret("webhook-cert", "absent")}
		pod.InitContainers = []corev1.Container{{Name: "init", VolumeMounts: []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert}}}}
		pod.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "cert", MountPath: installtest.WebhookCert}}
		pod.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 80}}
		pod.Containers[0].Env = []corev1.EnvVar{{Name: "OPERATOR_CONDITION_NAME"}, {Name: "A", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{}}}}
	})
	spec.Label = map[string]string{"team": "shop"}
	csv := installtest.Operator(installtest.Deployments(spec), installtest.ServedBy("manager"), installtest.ServedBy("manager", func(d *operatorsv1alpha1.WebhookDescription) {
		d.GenerateName, d.Type = "m.shop.example.com", installtest.Mutating
	}))
	csv.Annotations = map[string]string{"capabilities": "Deep Insights"}
	in := inputOf(csv, installtest.Targeting("red"))
	before := csv.DeepCopy()
	group := in.Scope.Group.DeepCopy()

	first := Objects(in)
	installtest.Same(t, "Render changed the ClusterServiceVersion", before, in.CSV)
	installtest.Same(t, "Render changed the OperatorGroup", group, in.Scope.Group)
	installtest.Same(t, "the same input renders another output", first, Objects(in))
}

// Repetitions of a Deployment are reported once and rendered once: otherwise each would have all its webhooks.
func TestDeploymentsOfOneName(t *testing.T) {
	repeated := slices.Repeat(installtest.Deployments(installtest.DeploymentOf("manager")), 5000)
	csv := installtest.Operator(installtest.Deployments(append(repeated, installtest.DeploymentOf("other"))...), installtest.ServedBy("manager"))
	for i := range 5000 {
		d := csv.Spec.WebhookDefinitions[0]
		d.GenerateName = fmt.Sprintf("v%d.example.com", i)
		csv.Spec.WebhookDefinitions = append(csv.Spec.WebhookDefinitions, d)
	}
	installtest.Same(t, "webhooks of each Deployment", []int{5001, 0}, lists.Map(Objects(inputOf(csv)).Deployments, func(d Deployment) int { return len(d.Webhooks) }))
	const unmet = `Deployment manager: spec.install.spec.deployments[0], [1], [2] and 4997 more have the name "manager": give each its own`
	installtest.Same(t, "unmet", unmet, requirements.Check(requirements.Facts{CSV: csv}).Unmet())
}
