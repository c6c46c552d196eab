package certs

import (
	"maps"
)

// Generation is a CA and a leaf that it signed. The CA's key is no part of it.
type Generation struct {
	// Number counts generations from 1. One that somebody else issued has none: it gets
	// the next number when it is taken in.
	Number int64
	// CA and Certificate are PEM certificates; Key is the leaf's private key, PEM.
	CA, Certificate, Key []byte
}

// with is m and more, where more wins.
func with[V any](m, more map[string]V) map[string]V {
	if m == nil {
		return more
	}
	maps.Copy(m, more)
	return m
}
