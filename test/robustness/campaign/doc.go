// Package campaign runs the manager in simulated clusters (package world), in virtual time, and has each run judged (package judge).
//
// Draw draws a Scenario from a seed: API servers and how late they are, operators, what is done with each operator, and faults.
// Run carries it out. Shrink removes what a failing scenario does not need.
//
//	make robustness SEED=1 RUNS=100
//
// docs/robustness.md describes the method.
package campaign
