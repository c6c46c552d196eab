// Package apiserver is an API server of Kubernetes in memory, for simulations in virtual time: it runs in a testing/synctest bubble, and clients
// reach it through an http.RoundTripper, without sockets.
//
//	cluster, err := apiserver.New(ctx, 2, etcd.NewStore())
//	kube, err := kubernetes.NewForConfig(cluster.Server(0).Config(apiserver.Admin))
//
// # What it is
//
// It is the code of kube-apiserver 1.36 on an etcd in memory (package etcd). The handlers, the registries of the built-in kinds, the watch
// cache and the storage are those of k8s.io/apiserver and k8s.io/kubernetes. Custom resources are served by the handler of
// k8s.io/apiextensions-apiserver, with its controllers. So the following is as in kube-apiserver: defaulting, validation, conversion, pruning,
// managedFields and server-side apply, all kinds of patches, dry run, generation, conflicts, preconditions, finalizers, propagation,
// subresources, selectors, pages, resourceVersion in reads, initial events and bookmarks of watches, 410, protobuf and JSON, warnings,
// impersonation, RBAC and reviews of access. Package differential compares it with kube-apiserver.
//
// The handlers of built-in kinds are created once for a process, and keep no state: the context of a request names its API server. So a cluster
// costs milliseconds. A cluster can have several API servers. Each has its own watch cache and its own view of etcd, which a test delays, holds or cuts.
//
// # What differs
//
//   - The kinds are those in kinds.go and rbac.go, in version v1, and custom resources. There is no discovery with aggregation and no OpenAPI.
//   - Of the admission plugins there are NamespaceLifecycle and the two that call webhooks. There are no admission policies.
//   - The API server calls webhooks through Cluster.Dial. It does not proxy to the API servers of APIServices.
//   - The controllers of the API server that write objects of their own do not run: there are no predefined roles, no Namespaces, no
//     Service kubernetes, no APIServices.
//   - Addresses and node ports of Services are never exhausted, and two Services can request the same one.
//   - The Endpoints of a deleted Service stay.
//   - There are no limits of concurrency, no authentication and no audit log. A user is what Config says.
//   - Events do not expire.
//   - uids and addresses are random, and the order of concurrent requests is that in which Go runs goroutines. So two runs with one seed can differ.
//
// # In a bubble
//
// After the context of a cluster has ended, call Wait, and then let virtual time pass, for example five minutes: kube-apiserver has goroutines that wait for a timer
// and not for a context. No goroutine may wait for a mutex while the owner of the mutex waits for time: the time of a bubble stands still then.
package apiserver
