// Package csvspec reads a ClusterServiceVersion (CSV): its Deployments, webhooks, APIs, accounts
// and the objects that belong to it by their metadata.
package csvspec

import (
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Deployments returns the Deployments that a ClusterServiceVersion lists: of several with one name, the
// first. A list that names one twice is a mistake (see Check), but until it is corrected what is
// installed is maintained, and each repetition would cost as much as its webhooks together.
func Deployments(csv *operatorsv1alpha1.ClusterServiceVersion) []operatorsv1alpha1.StrategyDeploymentSpec {
	listed := csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs
	distinct := make([]operatorsv1alpha1.StrategyDeploymentSpec, 0, len(listed))
	known := make(map[string]bool, len(listed))
	for _, spec := range listed {
		if !known[spec.Name] {
			known[spec.Name] = true
			distinct = append(distinct, spec)
		}
	}
	return distinct
}

// DeploymentNames returns the names of the Deployments of a ClusterServiceVersion.
func DeploymentNames(csv *operatorsv1alpha1.ClusterServiceVersion) []string {
	var names []string
	for _, spec := range Deployments(csv) {
		names = append(names, spec.Name)
	}
	return names
}
