// Package prove is a test of the whole cluster: it brings the real one up and down and
// proves that it is one, and that it leaves nothing. It needs root, and no cluster
// to be up:
//
//	go test -C test/cluster -tags cluster -count 1 -v ./prove
package prove
