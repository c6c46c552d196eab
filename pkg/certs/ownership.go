package certs

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// otherOwner is empty if the Secret becomes the manager's again: while webhooks are registered, one without an
// owner blocks the name, pods that reload would serve it, and calls fail.
func (f Facts) otherOwner() string {
	sign := notManaged(f.Secret)
	if sign == "" {
		return ""
	}
	if claim := f.claimedBy(); claim != "" {
		sign = claim
	} else if len(f.Registrations) > 0 {
		return ""
	}
	return fmt.Sprintf("Secret %s/%s %s, so it belongs to another client and is not modified; "+
		"the serving certificate needs this name: delete the Secret or give it another name",
		f.Secret.Namespace, f.Secret.Name, sign)
}

// notManaged returns what shows that a Secret is not the manager's; empty for nothing.
func notManaged(secret *corev1.Secret) string {
	switch {
	case secret == nil:
		return ""
	case secret.Type != corev1.SecretTypeTLS:
		return fmt.Sprintf("has type %q instead of %q", secret.Type, corev1.SecretTypeTLS)
	case secret.Labels[wellknown.LabelManaged] != "true":
		return fmt.Sprintf("lacks the label %s=true", wellknown.LabelManaged)
	default:
		return ""
	}
}

// labelManagedBy is set by Helm and other tools.
const labelManagedBy = "app.kubernetes.io/managed-by"

// claimedBy does not check whether an owning ClusterServiceVersion is active.
func (f Facts) claimedBy() string {
	for _, owner := range f.Secret.OwnerReferences {
		if kind := groupkind.OfOwner(owner); kind != groupkind.ClusterServiceVersion {
			return fmt.Sprintf("is owned by %s %s", kind, owner.Name)
		}
	}
	labels := f.Secret.Labels
	if by := labels[labelManagedBy]; by != "" && by != wellknown.FieldManager {
		return fmt.Sprintf("has the label %s=%s", labelManagedBy, by)
	}
	if owner := labels[wellknown.LabelOwner]; owner != "" && len(f.Secret.OwnerReferences) == 0 && owner != f.SecretMeta.Labels[wellknown.LabelOwner] {
		return fmt.Sprintf("has the label %s=%s", wellknown.LabelOwner, owner)
	}
	return ""
}

// mustDelete reports whether the Secret cannot be changed into the manager's.
func mustDelete(secret *corev1.Secret) bool {
	return notManaged(secret) != "" && (secret.Type != corev1.SecretTypeTLS || immutable(secret))
}

// deleteBlocking has the blocking Secret deleted. The manager's own is lost and is created next.
func (m *decider) deleteBlocking() {
	m.problem = fmt.Sprintf("Secret %s/%s %s", m.blocking.Namespace, m.blocking.Name, notManaged(m.blocking))
	m.d.PollAt = m.now.Add(otherClientInterval)
	switch {
	case m.blocking.DeletionTimestamp != nil:
		m.problem += keptByFinalizers(m.blocking)
	case m.requireLive():
		m.d.Remove = m.blocking
	}
}

func keptByFinalizers(secret *corev1.Secret) string {
	return fmt.Sprintf(", and finalizers keep it from being deleted: %s. Remove them, so that it can be recreated", strings.Join(secret.Finalizers, ", "))
}
