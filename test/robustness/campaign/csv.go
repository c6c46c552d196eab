package campaign

import (
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/installtest"
)

// csv returns a version of the operator: webhooks for the creation of ConfigMaps, which a Deployment serves.
func (o *operator) csv(version int) *operatorsv1alpha1.ClusterServiceVersion {
	shape := func(spec *appsv1.DeploymentSpec) {
		spec.Replicas = new(int32(o.Replicas))
		spec.Template.Spec.Containers[0].Image = fmt.Sprint("shop:", version)
	}
	webhooks := []operatorsv1alpha1.WebhookDescription{o.webhook("v", operatorsv1alpha1.ValidatingAdmissionWebhook)}
	if o.Mutating {
		webhooks = append(webhooks, o.webhook("m", operatorsv1alpha1.MutatingAdmissionWebhook))
	}
	csv := installtest.Operator(installtest.Deployments(installtest.DeploymentOf("manager", shape)), webhooks...)
	csv.ObjectMeta = metav1.ObjectMeta{Namespace: o.namespace(), Name: o.name(version)}
	csv.Spec.DisplayName = "Shop"
	if version > 1 {
		csv.Spec.Replaces = o.name(version - 1)
	}
	csv.Spec.InstallStrategy.StrategyName = operatorsv1alpha1.InstallStrategyNameDeployment
	for _, mode := range []operatorsv1alpha1.InstallModeType{
		operatorsv1alpha1.InstallModeTypeOwnNamespace, operatorsv1alpha1.InstallModeTypeSingleNamespace,
		operatorsv1alpha1.InstallModeTypeMultiNamespace, operatorsv1alpha1.InstallModeTypeAllNamespaces,
	} {
		csv.Spec.InstallModes = append(csv.Spec.InstallModes, operatorsv1alpha1.InstallMode{Type: mode, Supported: true})
	}
	return csv
}

func (o *operator) webhook(name string, kind operatorsv1alpha1.WebhookAdmissionType) operatorsv1alpha1.WebhookDescription {
	none, path := admissionregistrationv1.SideEffectClassNone, "/"+name
	return installtest.ServedBy("manager", installtest.AboutRequests(admissionregistrationv1.Create, "", "configmaps"), func(d *operatorsv1alpha1.WebhookDescription) {
		d.GenerateName, d.Type = fmt.Sprintf("%s.%s.example.com", name, o.namespace()), kind
		d.SideEffects, d.WebhookPath, d.ContainerPort = &none, &path, 443
	})
}

func (o *operator) group() *operatorsv1.OperatorGroup {
	group := &operatorsv1.OperatorGroup{ObjectMeta: metav1.ObjectMeta{Name: "group"}}
	if o.OwnNamespace {
		group.Spec.TargetNamespaces = []string{o.namespace()}
	}
	return group
}

func (o *operator) namespace() string { return fmt.Sprint("shop-", o.number) }

func (o *operator) name(version int) string { return fmt.Sprintf("%s.v%d", o.namespace(), version) }
