// Package differential compares the simulated API server with kube-apiserver: the same random sequences of requests give the same
// objects and the same errors. It shows what package apiserver says about itself.
//
// Compared are the status code, the reason, the causes and the message of each answer, and the object in it. managedFields are compared, too.
// What differs between any two clusters is not compared: uid, resourceVersion, times, and allocated addresses and ports. Neither are
// parts of messages whose order is random in kube-apiserver, and answers of kube-apiserver after a panic.
//
//	go test -C test/robustness ./differential -args -seeds=200 -seed=1000
package differential
