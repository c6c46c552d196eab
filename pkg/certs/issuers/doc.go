// Package issuers describes the providers of serving certificates in addition to the manager:
// what to request from them, and what they have issued. Providers is the list of them.
//
// It decides nothing about trust. A certificate that an issuer published is a generation like one
// that the manager minted, and goes through the same phases (see package certs) before
// a pod serves it.
package issuers
