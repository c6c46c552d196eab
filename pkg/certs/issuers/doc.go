// Package issuers lists the providers of serving certificates. For the providers with a controller
// of their own it describes what to request from them, and what they have issued.
//
// It decides nothing about trust. A certificate that an issuer published is a generation like one
// that the manager minted, and goes through the same phases (see package certs) before
// a pod serves it.
package issuers
