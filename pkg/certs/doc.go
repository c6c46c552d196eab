// Package certs decides about the serving certificate of one Deployment.
//
// A generation is a CA and a leaf that it signed, numbered. The CA's private key
// is forgotten when the leaf is signed, so the Secret that holds a generation
// holds nothing that could sign another one.
//
// One Secret holds the whole state of a rotation: what pods are given, under the keys
// that they mount; the next generation, under keys of its own; the CAs of what pods may
// serve still; and as annotations the instants at which steps were taken. So each step
// is one write under the Secret's resourceVersion, and who takes over from a manager
// that died goes on from there:
//
//	Stable        current                what is registered trusts current
//	Distributing  current, next          … is made to trust next too, and time passes
//	Promoting     next became current    pods are seen to take it up, one after the other
//	Retiring      current                what is registered trusts current alone again
//
// [Decide] takes what the cluster holds and the instant, and says which step is next.
// What it lacks it asks for ([Decision.Need]): adding a trust may rest on caches, giving
// pods another certificate and taking a trust away may not. [Mint] is the one function
// here that is not pure.
//
// Other issuers than the manager feed the same machine: what they issued comes as
// [Facts.Issued] and takes the same steps.
package certs
