package v1alpha1

import "fmt"

// String returns the counts for people: "3/5 new, 1 old, 1 unknown". It is empty when there are none.
func (e *CertificateEndpoints) String() string {
	if e == nil {
		return ""
	}
	return fmt.Sprintf("%d/%d new, %d old, %d unknown", e.Updated, e.Total, e.Outdated, e.Unknown)
}
