// Package v1alpha1 is the manager's own API: the status of the webhooks of a
// ClusterServiceVersion.
//
// +k8s:deepcopy-gen=package
// +groupName=olm-webhook-manager.io
package v1alpha1
