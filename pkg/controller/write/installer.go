package write

import (
	"fmt"
	"regexp"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/scope"
)

// InstallerError is the error of a write for which the installer has no permission.
type InstallerError struct {
	text  string
	cause error // nil if nothing was sent
}

func (e *InstallerError) Error() string { return e.text }

func (e *InstallerError) Unwrap() error { return e.cause }

var (
	// lackedPermission matches the text of an authorizer of the API server.
	lackedPermission = regexp.MustCompile(`User "([^"]*)" cannot (\S+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?`)
	// exceededPermissions matches the text of the escalation check.
	exceededPermissions = regexp.MustCompile(`is attempting to grant RBAC permissions not currently held:\s*(.*)`)
)

// explain names the permission that the installer lacks. Other errors stay as they are, such as refusals of admission.
func explain(installer scope.Installer, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	if lacks := lackedPermission.FindStringSubmatch(err.Error()); lacks != nil {
		user, verb, resource, namespace := lacks[1], lacks[2], named(lacks[3], lacks[4]), lacks[5]
		if user != installer.User() && verb == "impersonate" {
			return &InstallerError{fmt.Sprintf("the manager may not impersonate %s: apply manifests/with-olm", installer), err}
		}
		return &InstallerError{fmt.Sprintf("%s may not %s %s %s: grant it to the account", installer, verb, resource, place(namespace)), err}
	}
	if exceeds := exceededPermissions.FindStringSubmatch(err.Error()); exceeds != nil {
		return &InstallerError{fmt.Sprintf("%s may not grant permissions that it does not have: grant them to the account: %s", installer, strings.TrimSpace(exceeds[1])), err}
	}
	return err
}

func named(resource, group string) string {
	if group == "" {
		return resource
	}
	return resource + " of " + group
}

func place(namespace string) string {
	if namespace == "" {
		return "in the whole cluster"
	}
	return "in namespace " + namespace
}
