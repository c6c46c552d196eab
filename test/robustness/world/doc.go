// Package world is a simulated cluster in virtual time: API servers (package apiserver), the controllers that run Deployments, and nodes
// whose pods serve the certificates that are mounted into them. It runs in a testing/synctest bubble.
//
// A Deployment is rolled out with a surge of all replicas. A pod is ready after Delays.Start, loads the Secret that is mounted into it,
// and reloads a changed one after Delays.Kubelet and Delays.Reload. Every container port of a pod that is asked for is open. There is no scheduler, no
// network policy and no DNS: an address of a Service is resolved to a random ready endpoint.
//
// Its tests run the real controller of the manager in such worlds. More of them:
//
//	go test -C test/robustness ./world -run 'Faults|Crashes' -args -runs=60 -seed=100
package world
