// Package actors has the controllers of Kubernetes that delete objects: the garbage collector and the controller of namespaces. A test drives them: each
// call does one round, at a time that the test chooses, and as often as it wants.
package actors
