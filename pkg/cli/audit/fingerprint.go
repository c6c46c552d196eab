package audit

import (
	"crypto/sha256"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// fingerprint identifies a request of a log: files may overlap, and a request that lasts has several lines.
type fingerprint [sha256.Size]byte

// fingerprintOf regards the whole event. The audit ID alone does not identify a request: clients choose it, in the header
// Audit-ID, and may send several requests with the same one.
func fingerprintOf(e auditv1.Event) (fingerprint, error) {
	if connects(e) { // It has a line for the beginning of the connection, and one for the end.
		e.Stage, e.StageTimestamp, e.ResponseStatus = "", metav1.MicroTime{}, nil
	}
	text, err := json.Marshal(e)
	return sha256.Sum256(text), err
}
