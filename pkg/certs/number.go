package certs

import (
	"crypto/x509"
	"slices"
	"strconv"
	"strings"
)

// highestNumber is the newest generation among some CAs; 0 when none has a number.
// CAs keep the count when the Secret with the annotation is lost.
func highestNumber(authorities []*x509.Certificate) int64 {
	var highest int64
	for _, ca := range authorities {
		highest = max(highest, numberOf(ca))
	}
	return highest
}

// numberOf is the generation number in the subject of a CA that Mint made.
func numberOf(ca *x509.Certificate) int64 {
	if !slices.Equal(ca.Subject.Organization, []string{organization}) {
		return 0
	}
	number, _, _ := strings.Cut(ca.Subject.SerialNumber, "-")
	return parseNumber(number)
}

// parseNumber reads a generation number; 0 when there is none. Numbers beyond 32
// bits were written by somebody else, and would leave no room to count on.
func parseNumber(text string) int64 {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0
	}
	return int64(n)
}
