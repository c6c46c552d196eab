// Package chart tests the Helm chart of the manager without a cluster: with the same choices, the chart and the
// folders of manifests have the same objects.
// It is a module of its own, because Helm needs newer Kubernetes libraries than the manager.
package chart
