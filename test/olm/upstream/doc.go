// Package upstream has no code. Its module requires the programs of OLM that the tests of test/olm run, each in
// one version. test/programs builds them.
package upstream
