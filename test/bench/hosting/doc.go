// Package hosting compares pkg/hosting with a webhook server written on net/http alone and
// with controller-runtime's. It is a module of its own so that controller-runtime is no
// dependency of the project:
//
//	go test -C test/bench/hosting -bench . -benchtime 3s -count 5
package hosting
