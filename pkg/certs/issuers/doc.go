// Package issuers describes what to request from other providers of serving certificates, and what they have
// issued. It decides nothing about trust: package certs treats what they issue as what the manager minted.
package issuers
