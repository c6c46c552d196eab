// Package doctor judges the webhooks of a cluster, whoever made them: would any of them
// lock the cluster out now, or the next time that pods are lost?
//
// It is pure: what a cluster shows in, findings out. Nothing of a cluster is written, and
// nothing of the manager needs to run in it.
package doctor
