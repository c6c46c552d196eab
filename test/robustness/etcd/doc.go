// Package etcd is an etcd in memory: one store of keys with all their revisions, and clients of it, one for each API
// server. A client has a view of its own: its watches can be late, held or cut, while its reads and writes are
// linearizable, as etcd's are.
//
// It implements the part of etcd's client that k8s.io/apiserver uses. Leases do not expire, and nothing is compacted
// unless a test does so. All waiting is on channels and timers, so that a store can run in a synctest bubble.
package etcd
