package audit

import (
	"encoding/json"
	"net/url"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

const (
	mayBeDryRun = "the log does not have the options of the deletion, which may be a dry run: log deletions at level Request"
	mayBeNoop   = "the object exists: the deletion was a dry run, failed, or was of another object of this name, or the object waits for its finalizers"
)

// isNoDryRun reports whether a request was no dry run: maybe if the log does not show it. API servers take the options of a
// creation, update or patch from the URL. They take those of a deletion from its body, and ignore the URL if it has one.
func isNoDryRun(e auditv1.Event) truth {
	inURL := hasDryRun(e.RequestURI)
	switch {
	case ignoresDryRun(e):
		return isTrue
	case e.Verb != "delete" && e.Verb != "deletecollection":
		return of(!inURL)
	case e.RequestObject != nil:
		return isNoDryRunByBody(e.RequestObject.Raw)
	case inURL || e.Level != auditv1.LevelRequest && e.Level != auditv1.LevelRequestResponse:
		return perhaps(mayBeDryRun)
	default:
		return isTrue
	}
}

// ignoresDryRun reports whether API servers do the same with and without dryRun: connect, and issue a token.
func ignoresDryRun(e auditv1.Event) bool {
	ref := e.ObjectRef
	return connects(e) || ref != nil && ref.APIGroup == "" && ref.Resource == "serviceaccounts" && ref.Subresource == "token"
}

func isNoDryRunByBody(body []byte) truth {
	var options metav1.DeleteOptions
	if err := json.Unmarshal(body, &options); err != nil {
		return perhaps(mayBeDryRun)
	}
	return of(len(options.DryRun) == 0)
}

func hasDryRun(uri string) bool {
	parsed, err := url.Parse(uri)
	return err == nil && parsed.Query().Has("dryRun")
}

// effect reports whether a request had an effect. existing is the object of this name, or nil.
func (w logged) effect(existing *Object) truth {
	switch {
	case w.doubt == "":
		return isTrue
	case w.operation != admissionregistrationv1.Delete || existing == nil:
		return perhaps(w.doubt)
	case existing.deleted != nil && w.stamped(*existing.deleted):
		return isTrue
	case existing.deleted == nil && existing.created.Before(w.received.Truncate(time.Second)):
		return isFalse // It would not exist, or it would have a deletionTimestamp.
	default:
		return perhaps(mayBeNoop)
	}
}
