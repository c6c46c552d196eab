// Package issuers knows those who issue serving certificates beside the manager: what
// to ask of them, and what they made of it.
//
// It decides nothing about trust. What an issuer published is a generation like one
// that the manager minted, and goes through the same phases (see package certs) before
// a pod serves it.
package issuers
