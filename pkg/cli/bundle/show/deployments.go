package show

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
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

// secretsOf returns the names of the Secrets that a pod reads as files or variables.
func secretsOf(pod corev1.PodSpec) []string {
	var names []string
	for _, v := range pod.Volumes {
		if v.Secret != nil {
			names = append(names, v.Secret.SecretName)
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				names = append(names, source.Secret.Name)
			}
		}
	}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, variable := range container.Env {
			if variable.ValueFrom != nil && variable.ValueFrom.SecretKeyRef != nil {
				names = append(names, variable.ValueFrom.SecretKeyRef.Name)
			}
		}
		for _, source := range container.EnvFrom {
			if source.SecretRef != nil {
				names = append(names, source.SecretRef.Name)
			}
		}
	}
	return distinct(names)
}

func serviceAccountOf(pod corev1.PodSpec) string {
	return cmp.Or(pod.ServiceAccountName, pod.DeprecatedServiceAccount, "default")
}
