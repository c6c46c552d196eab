package audit

import (
	"cmp"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
)

// Certainty is how sure it is that a change was made while the webhook was open, and that the request was in its scope.
type Certainty string

// The certainties. Without an audit log, Certain does not exclude that the webhook answered: also an open webhook is called.
const (
	Certain  Certainty = "Certain"
	Possible Certainty = "Possible"
)

// Evidence is what shows a change.
type Evidence string

// The sources of evidence.
const (
	FromCreation        Evidence = "CreationTimestamp"
	FromManagedFields   Evidence = "ManagedFields"
	FromDeletion        Evidence = "DeletionTimestamp"
	FromResourceVersion Evidence = "ResourceVersion"
	FromAuditLog        Evidence = "AuditLog"
)

// State is what became of an object.
type State string

// The states of an object.
const (
	Exists State = "Exists"
	// Deleted means that a request deleted the object while the webhook was open, or may have deleted it if it is Possible.
	Deleted State = "Deleted"
	// Vanished means that the object was created or changed, and does not exist any more.
	Vanished State = "Vanished"
	// Unknown means that the object was created or changed, and that the objects of its resource could not be listed.
	Unknown State = "Unknown"
)

// Report is the result of an audit.
type Report struct {
	Webhooks []Webhook `json:"webhooks"`
	// Unread are the resources whose objects could not be listed, each with the reason.
	Unread []string `json:"unread"`
	// AuditLog is the interval of the audit log; absent if none was given.
	AuditLog *Interval `json:"auditLog,omitempty"`
	// Notes are the limits of this audit.
	Notes   []string `json:"notes"`
	Entries []Entry  `json:"objects"`
}

// Interval is the time from the first line of an audit log to the last.
type Interval struct {
	From  metav1.MicroTime `json:"from"`
	Until metav1.MicroTime `json:"until"`
}

// Entry is an object that was, or may have been, admitted while a webhook was open.
type Entry struct {
	Webhook   string                                 `json:"webhook"`
	Type      operatorsv1alpha1.WebhookAdmissionType `json:"type"`  // of the webhook
	Owner     string                                 `json:"owner"` // namespace/name of the ClusterServiceVersion of the webhook
	Group     string                                 `json:"group"`
	Version   string                                 `json:"version,omitempty"`
	Resource  string                                 `json:"resource"`
	Namespace string                                 `json:"namespace,omitempty"`
	Name      string                                 `json:"name"`
	UID       types.UID                              `json:"uid,omitempty"`
	State     State                                  `json:"state"`
	Certainty Certainty                              `json:"certainty"`
	Changes   []Change                               `json:"changes"`
	// Replay is the result of the replay; absent without a replay, and for an object that does not exist.
	Replay *Replay `json:"replay,omitempty"`

	// Object is nil if it does not exist.
	Object *Object `json:"-"`
}

// key identifies the object of the entry.
func (e Entry) key() string {
	identity := string(e.UID)
	if e.Object == nil {
		identity = "no longer exists"
	}
	return strings.Join([]string{e.Group, e.Resource, e.Namespace, e.Name, identity}, "/")
}

func (e Entry) compare(other Entry) int {
	return cmp.Or(
		cmp.Compare(e.Owner, other.Owner), cmp.Compare(e.Webhook, other.Webhook), cmp.Compare(e.Type, other.Type), cmp.Compare(e.Group, other.Group), cmp.Compare(e.Resource, other.Resource),
		cmp.Compare(e.Namespace, other.Namespace), cmp.Compare(e.Name, other.Name), cmp.Compare(e.key(), other.key()),
	)
}

// Change is a request that passed, or may have passed, while a webhook was open.
type Change struct {
	Operation   admissionregistrationv1.OperationType `json:"operation"`
	Subresource string                                `json:"subresource,omitempty"`
	// Time is absent if the change has none.
	Time *metav1.Time `json:"time,omitempty"`
	// Manager is the field manager, which the client chooses. User is who sent the request, by the audit log.
	Manager string `json:"manager,omitempty"`
	User    string `json:"user,omitempty"`
	// Opening is when the opening began.
	Opening   metav1.Time `json:"opening"`
	Evidence  Evidence    `json:"evidence"`
	Certainty Certainty   `json:"certainty"`
	// Reason is why it is only possible.
	Reason string `json:"reason,omitempty"`
}

func stamp(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }
