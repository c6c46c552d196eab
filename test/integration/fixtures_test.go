package integration

import (
	"context"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	managerv1alpha1 "github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/manager/v1alpha1"
)

// csv is a ClusterServiceVersion in all install modes, with the given Deployments
// and a validating webhook on ConfigMaps behind the first.
func csv(name string, deployments ...string) *operatorsv1alpha1.ClusterServiceVersion {
	c := &operatorsv1alpha1.ClusterServiceVersion{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: operatorsv1alpha1.ClusterServiceVersionSpec{
			DisplayName: name,
			InstallModes: []operatorsv1alpha1.InstallMode{
				{Type: operatorsv1alpha1.InstallModeTypeOwnNamespace, Supported: true},
				{Type: operatorsv1alpha1.InstallModeTypeSingleNamespace, Supported: true},
				{Type: operatorsv1alpha1.InstallModeTypeMultiNamespace, Supported: true},
				{Type: operatorsv1alpha1.InstallModeTypeAllNamespaces, Supported: true},
			},
			InstallStrategy:    operatorsv1alpha1.NamedInstallStrategy{StrategyName: operatorsv1alpha1.InstallStrategyNameDeployment},
			WebhookDefinitions: []operatorsv1alpha1.WebhookDescription{webhook("v.example.com", deployments[0])},
		},
	}
	for _, d := range deployments {
		c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs = append(c.Spec.InstallStrategy.StrategySpec.DeploymentSpecs, deploymentSpec(d))
	}
	return c
}

func deploymentSpec(name string) operatorsv1alpha1.StrategyDeploymentSpec {
	labels := map[string]string{"app": name}
	return operatorsv1alpha1.StrategyDeploymentSpec{Name: name, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "server", Image: "example.com/server:1"}}},
		},
	}}
}

// webhook is a validating webhook that no request matches: the tests of this package
// have nobody to answer it.
func webhook(generateName, deployment string) operatorsv1alpha1.WebhookDescription {
	none, path := admissionv1.SideEffectClassNone, "/validate"
	return operatorsv1alpha1.WebhookDescription{
		GenerateName: generateName, Type: operatorsv1alpha1.ValidatingAdmissionWebhook, DeploymentName: deployment,
		ContainerPort: 443, WebhookPath: &path, SideEffects: &none, AdmissionReviewVersions: []string{"v1"},
		Rules: []admissionv1.RuleWithOperations{{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{"nobody.example.com"}, APIVersions: []string{"v1"}, Resources: []string{"things"}},
		}},
	}
}

func (e *env) create(c *operatorsv1alpha1.ClusterServiceVersion) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	created, err := e.olm.OperatorsV1alpha1().ClusterServiceVersions(e.namespace).Create(e.ctx, c, metav1.CreateOptions{})
	e.must(err)
	return created
}

func (e *env) get(csv string) *operatorsv1alpha1.ClusterServiceVersion {
	e.Helper()
	c, err := e.olm.OperatorsV1alpha1().ClusterServiceVersions(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
	e.must(err)
	return c
}

// reaches waits for a phase and a reason, and returns the message.
func (e *env) reaches(csv string, phase operatorsv1alpha1.ClusterServiceVersionPhase, reason operatorsv1alpha1.ConditionReason) string {
	e.Helper()
	message := ""
	e.eventually(csv+" gets "+string(phase)+"/"+string(reason), func() (bool, any) {
		s := e.get(csv).Status
		message = s.Message
		return s.Phase == phase && s.Reason == reason, [3]string{string(s.Phase), string(s.Reason), s.Message}
	})
	return message
}

func (e *env) succeeds(csv string) {
	e.Helper()
	e.reaches(csv, operatorsv1alpha1.CSVPhaseSucceeded, operatorsv1alpha1.CSVReasonInstallSuccessful)
}

// rollout is the WebhookRollout of a ClusterServiceVersion; empty while there is none.
func (e *env) rollout(csv string) managerv1alpha1.WebhookRolloutStatus {
	e.Helper()
	r, err := e.olm.ManagerV1alpha1().WebhookRollouts(e.namespace).Get(e.ctx, csv, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return managerv1alpha1.WebhookRolloutStatus{}
	}
	e.must(err)
	return r.Status
}

// registered are the validating registrations of the test's Namespace, by the name of
// their webhook.
func (e *env) registered() map[string]admissionv1.ValidatingWebhookConfiguration {
	e.Helper()
	list, err := e.kube.AdmissionregistrationV1().ValidatingWebhookConfigurations().List(e.ctx, metav1.ListOptions{LabelSelector: "olm.owner.namespace=" + e.namespace})
	e.must(err)
	found := map[string]admissionv1.ValidatingWebhookConfiguration{}
	for _, c := range list.Items {
		found[c.Labels["olm.webhook-description-generate-name"]] = c
	}
	return found
}

// runDeployments plays the Deployment controller and its pods: every Deployment of
// the test's Namespace is available as soon as it is there, but for those named.
func (e *env) runDeployments(except ...string) {
	e.Helper()
	client := e.kube.AppsV1().Deployments(e.namespace)
	w, err := client.Watch(e.ctx, metav1.ListOptions{SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan})
	e.must(err)
	e.Cleanup(w.Stop)
	go func() {
		for event := range w.ResultChan() {
			d, ok := event.Object.(*appsv1.Deployment)
			if ok && event.Type != watch.Deleted && !slices.Contains(except, d.Name) {
				makeAvailable(e.ctx, e, d)
			}
		}
	}()
}

// makeAvailable writes the status of a Deployment whose replicas all answer. A
// conflict is left to the event that caused it.
func makeAvailable(ctx context.Context, e *env, d *appsv1.Deployment) {
	wanted := appsv1.DeploymentStatus{
		ObservedGeneration: d.Generation, Replicas: *d.Spec.Replicas, UpdatedReplicas: *d.Spec.Replicas,
		ReadyReplicas: *d.Spec.Replicas, AvailableReplicas: *d.Spec.Replicas,
		Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, Reason: "MinimumReplicasAvailable"}},
	}
	if d.Status.ObservedGeneration == wanted.ObservedGeneration && d.Status.AvailableReplicas == wanted.AvailableReplicas {
		return
	}
	d.Status = wanted
	if _, err := e.kube.AppsV1().Deployments(d.Namespace).UpdateStatus(ctx, d, metav1.UpdateOptions{}); err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		e.Errorf("status of deployment %s: %v", d.Name, err)
	}
}
