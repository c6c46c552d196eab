// Package differential compares the simulated API server with kube-apiserver: the same random sequences of requests give the same
// objects and the same errors. It is the proof of what package apiserver says about itself.
//
// Compared are the status code, the reason, the causes and the message of each answer, and the object in it, without what differs between any two clusters:
// uid, resourceVersion, times and allocated addresses. managedFields are compared, without their times.
package differential
