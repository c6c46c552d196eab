// Package gitops tests what docs/admin/gitops.md describes for Argo CD and Flux: Argo CD's health
// checks by the Lua interpreter that Argo CD runs them with, Flux's by Flux's own evaluator.
// It is a module of its own, so that the manager's names none of this.
package gitops
