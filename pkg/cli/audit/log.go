package audit

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// Log has the writes of an audit log, in the format of the log backend of API servers: one JSON object a line.
type Log struct {
	// First and Last are the times at which the first and the last line were written.
	First, Last time.Time
	lines       slots
	writes      []logged
	seen        map[fingerprint]bool
}

// logged is a write that an API server admitted, or may have admitted.
type logged struct {
	received, answered time.Time
	operation          admissionregistrationv1.OperationType
	collection         bool // it deleted several objects, which the log does not name
	resource           schema.GroupResource
	version            string
	subresource        string
	namespace, name    string
	uid                types.UID
	user               string
	groups             []string
	generated          bool   // the request has no name: the API server generates it
	doubt              string // why it may have had no effect; empty if it had one
	// open are the webhooks that did not answer, and whose failurePolicy let the request pass.
	open []string
}

// Add adds a line.
func (l *Log) Add(line []byte) error {
	var event auditv1.Event
	if err := json.Unmarshal(line, &event); err != nil {
		return err
	}
	l.addTime(event.StageTimestamp.Time)
	write, is := writeOf(event)
	if !is {
		return nil
	}
	mark, err := fingerprintOf(event)
	if err != nil || l.seen[mark] {
		return err
	}
	if l.seen == nil {
		l.seen = map[fingerprint]bool{}
	}
	l.seen[mark] = true
	l.writes = append(l.writes, write)
	return nil
}

// addTime adds the time of a line. A request may have begun long before its line, such as a watch.
func (l *Log) addTime(t time.Time) {
	if l.lines == nil {
		l.lines = slots{}
	}
	l.lines.add(t)
	if l.First.IsZero() || t.Before(l.First) {
		l.First = t
	}
	if t.After(l.Last) {
		l.Last = t
	}
}

// writeOf returns the write of an event; false if it is none, had no effect, or was a dry run.
func writeOf(e auditv1.Event) (logged, bool) {
	operation, write := operationOf(e)
	effect := and(func() truth { return hadEffect(e) }, func() truth { return isNoDryRun(e) })
	if !write || e.ObjectRef == nil || effect.of == no {
		return logged{}, false
	}
	ref := e.ObjectRef
	w := logged{
		received: e.RequestReceivedTimestamp.Time, answered: e.StageTimestamp.Time, operation: operation, collection: e.Verb == "deletecollection",
		resource: schema.GroupResource{Group: ref.APIGroup, Resource: ref.Resource}, version: ref.APIVersion, subresource: ref.Subresource,
		namespace: ref.Namespace, name: ref.Name, uid: ref.UID, user: e.User.Username, groups: e.User.Groups, generated: ref.Name == "",
		doubt: effect.reason, open: failedOpen(e.Annotations),
	}
	// The log names a Namespace as its own namespace.
	if w.resource == namespaces || !isNamespaced(e.RequestURI) {
		w.namespace = ""
	}
	if e.ImpersonatedUser != nil {
		w.user, w.groups = e.ImpersonatedUser.Username, e.ImpersonatedUser.Groups
	}
	if w.name == "" && operation == admissionregistrationv1.Create && e.ResponseObject != nil {
		var answer metav1.PartialObjectMetadata
		if json.Unmarshal(e.ResponseObject.Raw, &answer) == nil {
			w.name, w.uid = answer.Name, answer.UID
		}
	}
	return w, true
}

func operationOf(e auditv1.Event) (admissionregistrationv1.OperationType, bool) {
	isNew := e.ResponseStatus != nil && e.ResponseStatus.Code == created
	switch {
	case connects(e) && e.Stage != auditv1.StageRequestReceived:
		return admissionregistrationv1.Connect, true
	case e.Stage != auditv1.StageResponseComplete:
		return "", false
	case e.Verb == "create" || (e.Verb == "update" || e.Verb == "patch") && isNew:
		return admissionregistrationv1.Create, true
	case e.Verb == "update" || e.Verb == "patch":
		return admissionregistrationv1.Update, true
	case e.Verb == "delete" || e.Verb == "deletecollection":
		return admissionregistrationv1.Delete, true
	default:
		return "", false
	}
}

func connects(e auditv1.Event) bool {
	return e.ObjectRef != nil && slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, e.ObjectRef.Subresource)
}

// isNamespaced reports whether the URL of a request names a namespace. For a cluster-scoped object, the log may have
// metadata.namespace of the body, which clients choose and API servers ignore.
func isNamespaced(uri string) bool {
	parsed, err := url.Parse(uri)
	return err != nil || strings.Contains(parsed.Path, "/namespaces/")
}

// failedOpen returns the webhooks of the annotations that API servers add to a request which passed without an answer.
func failedOpen(annotations map[string]string) []string {
	var names []string
	for key, name := range annotations {
		if strings.HasPrefix(key, "failed-open.validating.webhook.admission.k8s.io/") || strings.HasPrefix(key, "failed-open.mutation.webhook.admission.k8s.io/") {
			names = append(names, name)
		}
	}
	return names
}
