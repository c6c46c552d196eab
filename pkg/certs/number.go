package certs

import (
	"crypto/x509"
	"slices"
	"strings"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/certgeneration"
)

// latestNumber is the number of the newest generation among some CAs; 0 when none has a number.
// CAs keep the count when the Secret with the annotation is lost.
func latestNumber(authorities []*x509.Certificate) int64 {
	var latest int64
	for _, ca := range authorities {
		latest = certgeneration.Latest(latest, numberOf(ca))
	}
	return latest
}

// numberOf is the generation number in the subject of a CA that Mint made.
func numberOf(ca *x509.Certificate) int64 {
	if !slices.Equal(ca.Subject.Organization, []string{organization}) {
		return 0
	}
	number, _, _ := strings.Cut(ca.Subject.SerialNumber, "-")
	return certgeneration.Parse(number)
}
