// Package scale measures the manager as a process on a real API server, with many
// ClusterServiceVersions at once: how long their installation takes next to the least that
// it could take, how many requests that costs, how much memory, what an idle manager
// writes, and how soon it repairs.
//
// There are no controllers and no nodes: a test plays the part of Deployments.
package scale
