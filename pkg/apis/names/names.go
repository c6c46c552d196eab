// Package names derives every name and label value that the manager gives to an
// object of its own.
//
// A name that its source fits into verbatim is used verbatim: those are the names
// that OLM v0 gives, and scripts rely on them. Any other source is made to fit:
// characters that the kind of name does not allow become "-", the end is cut, and
// a hash of the source is put behind, so that two sources never share a name.
//
//	derived                 source                      limit                 pattern
//	Service                 Deployment name D           63, DNS-1035 label    D-service
//	Secret                  Service name                253, DNS subdomain    D-service-cert
//	Role, RoleBinding       Service name                253, path segment     D-service-cert
//	issued by others        one of the two below        253, DNS subdomain    D-service-cert-issued
//	CA, its Issuer          Service name                253, DNS subdomain    D-service-ca
//	Issuer of the CA        Service name                253, DNS subdomain    D-service-selfsigned
//	webhook configuration   generateName and identity   253, DNS subdomain    generateName-<hash>
//	permissions             identity                    253, path segment     csv-<hash>
//	PodDisruptionBudget     Deployment name D           253, DNS subdomain    D-webhooks
//	auth-delegator binding  Service name                253, path segment     D-service-system:auth-delegator
//	auth-reader binding     Service name                253, path segment     D-service-auth-reader
//	either, name taken      namespace, Service name     253, path segment     D-service-<hash>-auth-reader
//	lifted permissions      namespace and Role name     253, path segment     role-<hash>
//	label value             any name                    63                    verbatim
package names

import (
	"crypto/sha256"
	"math/big"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	hashLength = 10

	serviceSuffix       = "-service"
	budgetSuffix        = "-webhooks"
	authDelegatorSuffix = "-system:auth-delegator"
	authReaderSuffix    = "-auth-reader"
)

// Service is the name of the Service in front of a Deployment's webhooks.
func Service(deployment string) string {
	verbatim := deployment + serviceSuffix
	if len(validation.IsDNS1035Label(verbatim)) == 0 {
		return verbatim
	}
	label := strings.ReplaceAll(subdomain(deployment), ".", "-")
	if label == "" || label[0] < 'a' {
		label = "d-" + label
	}
	return fit(label, deployment, serviceSuffix, validation.DNS1035LabelMaxLength)
}

// Secret is the name of the serving certificate's Secret, and of the Role and RoleBinding for reading it.
func Secret(service string) string { return service + "-cert" }

// Budget is the name of the PodDisruptionBudget for the pods of a Deployment that serves webhooks.
func Budget(deployment string) string {
	if verbatim := deployment + budgetSuffix; len(validation.IsDNS1123Subdomain(verbatim)) == 0 {
		return verbatim
	}
	return fit(subdomain(deployment), deployment, budgetSuffix, validation.DNS1123SubdomainMaxLength)
}

// CA is the name of another issuer's CA for a Service: of its Certificate, Issuer and ConfigMap.
func CA(service string) string { return service + "-ca" }

// SelfSigned is the name of the Issuer that such a CA signs itself with.
func SelfSigned(service string) string { return service + "-selfsigned" }

// Issued is the name of the Secret into which another issuer writes the certificate of that name.
func Issued(name string) string { return name + "-issued" }

// AuthDelegator is the name of the ClusterRoleBinding that lets a Service's server ask who calls it.
func AuthDelegator(service string) string { return service + authDelegatorSuffix }

// AuthDelegatorIn is the same where the Service of another namespace has that name.
func AuthDelegatorIn(namespace, service string) string {
	return fit(service, namespace+"/"+service, authDelegatorSuffix, validation.DNS1123SubdomainMaxLength)
}

// AuthReader is the name of the RoleBinding in kube-system that lets it read the API server's client CA.
func AuthReader(service string) string { return service + authReaderSuffix }

// AuthReaderIn is the same where the Service of another namespace has that name.
func AuthReaderIn(namespace, service string) string {
	return fit(service, namespace+"/"+service, authReaderSuffix, validation.DNS1123SubdomainMaxLength)
}

// WebhookConfiguration is the name under which a webhook is first registered. The identity is the namespace
// and name of the ClusterServiceVersion and the webhook's type: several may have one generateName.
func WebhookConfiguration(generateName string, identity ...string) string {
	source := strings.Join(append([]string{generateName}, identity...), "/")
	return fit(subdomain(generateName), source, "", validation.DNS1123SubdomainMaxLength)
}

// Permissions is the name of the roles and bindings for the permissions of a ServiceAccount. They may be
// cluster-scoped, so the namespace belongs to their identity.
func Permissions(namespace, csv, account string) string {
	return fit(subdomain(csv), strings.Join([]string{namespace, csv, account}, "/"), "", validation.DNS1123SubdomainMaxLength)
}

// Lifted is the name of a Role that is granted in the whole cluster, if another client has the Role's name.
func Lifted(namespace, role string) string {
	return fit(role, namespace+"/"+role, "", validation.DNS1123SubdomainMaxLength)
}

// subdomain replaces what no name of an object has, so that one whose source is not
// valid gets as far as the API server, which reports what is wrong with the source.
func subdomain(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '.', r == '-':
			return r
		case 'A' <= r && r <= 'Z':
			return r - 'A' + 'a'
		default:
			return '-'
		}
	}, name)
}

// LabelValue is a name as the value of a label.
func LabelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	return fit(name, name, "", validation.LabelValueMaxLength)
}

// Hash is a short fingerprint of some text, of lower-case letters and digits.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return new(big.Int).SetBytes(sum[:]).Text(36)[:hashLength]
}

// fit cuts prefix so that "prefix-<hash of source><suffix>" is at most limit long.
func fit(prefix, source, suffix string, limit int) string {
	room := limit - len("-") - hashLength - len(suffix)
	if len(prefix) > room {
		prefix = prefix[:room]
	}
	return strings.TrimRight(prefix, "-._") + "-" + Hash(source) + suffix
}
