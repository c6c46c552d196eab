package scope

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
)

// Installer is the ServiceAccount in spec.serviceAccountName of an OperatorGroup: with its permissions, operators of the
// namespace are installed. The zero value is the manager itself.
type Installer struct {
	Namespace, Name string
	Group           string // the OperatorGroup
	Exists          bool
	// Impersonated is set if the manager may act as the account.
	Impersonated bool
}

// InstallerOf returns the installer of a group. The account is nil if it does not exist.
func InstallerOf(group *operatorsv1.OperatorGroup, account *corev1.ServiceAccount, impersonates bool) Installer {
	if group == nil || group.Spec.ServiceAccountName == "" {
		return Installer{}
	}
	return Installer{Namespace: group.Namespace, Name: group.Spec.ServiceAccountName, Group: group.Name, Exists: account != nil, Impersonated: impersonates}
}

// IsManager reports whether the manager installs with its own permissions.
func (i Installer) IsManager() bool { return i.Name == "" }

// Obstacle returns why nothing is written for the installer, or "".
func (i Installer) Obstacle() string {
	switch {
	case i.IsManager():
		return ""
	case !i.Impersonated:
		return fmt.Sprintf("%s is used with --with-olm only: apply manifests/with-olm, or remove spec.serviceAccountName", i)
	case !i.Exists:
		return fmt.Sprintf("%s does not exist: create it, or remove spec.serviceAccountName", i)
	default:
		return ""
	}
}

// User returns the user name of the account, or "".
func (i Installer) User() string {
	if i.IsManager() {
		return ""
	}
	return "system:serviceaccount:" + i.Namespace + ":" + i.Name
}

func (i Installer) String() string {
	return fmt.Sprintf("ServiceAccount %s/%s of OperatorGroup %s", i.Namespace, i.Name, i.Group)
}
