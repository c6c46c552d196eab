package names

import "k8s.io/apimachinery/pkg/util/validation"

const (
	authDelegatorSuffix = "-system:auth-delegator"
	authReaderSuffix    = "-auth-reader"
)

// AuthDelegator is the name of the ClusterRoleBinding that lets the server behind a
// Service ask who calls it.
func AuthDelegator(service string) string { return service + authDelegatorSuffix }

// AuthDelegatorIn is the same where the Service of another namespace has that name.
func AuthDelegatorIn(namespace, service string) string {
	return fit(service, namespace+"/"+service, authDelegatorSuffix, validation.DNS1123SubdomainMaxLength)
}

// AuthReader is the name of the RoleBinding in kube-system that lets the server behind a
// Service read by which certificate the API server shows itself.
func AuthReader(service string) string { return service + authReaderSuffix }

// AuthReaderIn is the same where the Service of another namespace has that name.
func AuthReaderIn(namespace, service string) string {
	return fit(service, namespace+"/"+service, authReaderSuffix, validation.DNS1123SubdomainMaxLength)
}
