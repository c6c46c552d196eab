package certs

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/wellknown"
)

// foreign says why the Secret is left to somebody else; empty when it is the manager's, or
// is made so again.
//
// While webhooks are called, one that nobody lays claim to stands where the manager's own
// was: pods that reload would serve what is in it, and calls fail.
func (f Facts) foreign() string {
	sign := strange(f.Secret)
	if sign == "" {
		return ""
	}
	if claim := f.claimed(); claim != "" {
		sign = claim
	} else if len(f.Registered) > 0 {
		return ""
	}
	return fmt.Sprintf("Secret %s/%s %s, so it belongs to somebody else and is left alone; "+
		"the serving certificate needs this name: delete the Secret or give it another name",
		f.Secret.Namespace, f.Secret.Name, sign)
}

// strange is what shows that a Secret was not written by the manager; empty for nothing.
func strange(secret *corev1.Secret) string {
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

// labelManagedBy is what Helm and others mark as theirs.
const labelManagedBy = "app.kubernetes.io/managed-by"

// claimed says who lays claim to the Secret; empty for nobody. Which of the
// ClusterServiceVersions that own it has it in hand is not for this package to tell.
func (f Facts) claimed() string {
	for _, owner := range f.Secret.OwnerReferences {
		if owner.Kind != operatorsv1alpha1.ClusterServiceVersionKind {
			return fmt.Sprintf("is owned by %s %s", owner.Kind, owner.Name)
		}
	}
	labels := f.Secret.Labels
	if by := labels[labelManagedBy]; by != "" && by != wellknown.FieldManager {
		return fmt.Sprintf("bears the label %s=%s", labelManagedBy, by)
	}
	if owner := labels[wellknown.LabelOwner]; owner != "" && len(f.Secret.OwnerReferences) == 0 && owner != f.Blank.Labels[wellknown.LabelOwner] {
		return fmt.Sprintf("bears the label %s=%s", wellknown.LabelOwner, owner)
	}
	return ""
}

// usurped tells whether a Secret has the place of the manager's, and can only be deleted:
// what it is cannot be changed.
func usurped(secret *corev1.Secret) bool {
	return strange(secret) != "" && (secret.Type != corev1.SecretTypeTLS || immutable(secret))
}

// remove has the usurper deleted. What it stands in for is lost, and is created next.
func (m *decider) remove() {
	m.problem = fmt.Sprintf("Secret %s/%s %s", m.usurper.Namespace, m.usurper.Name, strange(m.usurper))
	if m.live() {
		m.d.Remove, m.d.Again = m.usurper, m.now
	}
}
