package show

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Deployment is a Deployment of the ClusterServiceVersion and what its pods reach on their node.
type Deployment struct {
	Name    string   `json:"name"`
	Account string   `json:"account"`
	Images  []string `json:"images"`
	// HostAccess names the fields that give the pods access to the node.
	HostAccess []string `json:"hostAccess"`
}

// deployments returns the Deployments of the ClusterServiceVersion: those with most access to the node first.
func (c *contents) deployments() []Deployment {
	var all []Deployment
	for _, d := range c.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs {
		pod := d.Spec.Template.Spec
		var images []string
		for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
			images = append(images, container.Image)
		}
		all = append(all, Deployment{Name: d.Name, Account: serviceAccountOf(pod), Images: distinct(images), HostAccess: hostAccess(d.Spec.Template)})
	}
	return byDanger(all, func(d Deployment) int { return len(d.HostAccess) })
}

func serviceAccountOf(pod corev1.PodSpec) string {
	return cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default")
}

// detailsOf returns what the name of an object does not show: whose token a Secret gets, and which pods a
// PriorityClass is for.
func detailsOf(o *unstructured.Unstructured) string {
	switch o.GroupVersionKind().GroupKind().String() {
	case "Secret":
		if kind, _, _ := unstructured.NestedString(o.Object, "type"); kind == string(corev1.SecretTypeServiceAccountToken) {
			return fmt.Sprintf("a token of ServiceAccount %s/%s", o.GetNamespace(), o.GetAnnotations()[corev1.ServiceAccountNameKey])
		}
	case "PriorityClass.scheduling.k8s.io":
		value, _, _ := unstructured.NestedFieldNoCopy(o.Object, "value")
		details := []string{fmt.Sprintf("value %v", value)}
		if forAll, _, _ := unstructured.NestedBool(o.Object, "globalDefault"); forAll {
			details = append(details, "globalDefault")
		}
		if policy, _, _ := unstructured.NestedString(o.Object, "preemptionPolicy"); policy != "" {
			details = append(details, "preemptionPolicy "+policy)
		}
		return strings.Join(details, ", ")
	}
	return ""
}
