package certs

import (
	"crypto/x509"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/vocabulary"
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

// annotatedNumber is the generation number that a Secret carries; 0 for none.
func annotatedNumber(secret *corev1.Secret) int64 {
	return parseNumber(secret.Annotations[vocabulary.AnnotationGeneration])
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
