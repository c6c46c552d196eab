package storage

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxSkew is by how much the clock of this machine may be ahead of the clocks of API servers.
const maxSkew = 5 * time.Minute

// requestsEnd returns when all requests that began under an earlier spec of the definition have ended. An API server
// selects the storage at the start of a request (customresource_handler.go): a write that admission delays is stored in
// the previous version. changed reports whether this run has observed a change. agreed is when all servers agreed.
func requestsEnd(crd *apiextensionsv1.CustomResourceDefinition, changed bool, agreed time.Time, requestTimeout time.Duration) time.Time {
	last := agreed
	if written := specWritten(crd); !changed && !written.IsZero() && written.Add(maxSkew).Before(agreed) {
		last = written.Add(maxSkew)
	}
	return last.Add(requestTimeout)
}

// specWritten returns when managedFields record the last write of the spec; the zero time if unknown.
func specWritten(crd *apiextensionsv1.CustomResourceDefinition) time.Time {
	var last time.Time
	for _, entry := range crd.ManagedFields {
		switch {
		case !mayOwnSpec(entry):
		case entry.Time == nil:
			return time.Time{}
		case entry.Time.After(last):
			last = entry.Time.Time
		}
	}
	return last
}

// mayOwnSpec excludes the entries of status, and of annotations such as this command's own.
func mayOwnSpec(entry metav1.ManagedFieldsEntry) bool {
	var fields map[string]json.RawMessage
	if entry.FieldsV1 == nil || json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
		return entry.Subresource == ""
	}
	_, owns := fields["f:spec"]
	return owns && entry.Subresource == ""
}

func waitForRequests(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, end time.Time, report ReportFunc) error {
	left := time.Until(end)
	if left <= 0 {
		return nil
	}
	report(Progress{Line: fmt.Sprintf("waiting until %s: API servers may still store objects of %s in the previous version, for requests that began before the last change of its spec", end.Format(time.TimeOnly), crd.Name), Final: true})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(left):
		return nil
	}
}
