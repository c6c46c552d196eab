package convert

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/groupkind"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/apis/lists"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/cli/bundle"
)

const certManagerGroup = "cert-manager.io"

var certificateKind = schema.GroupKind{Group: certManagerGroup, Kind: "Certificate"}

// certificates converts the objects of cert-manager, and Secrets with a serving certificate.
type certificates struct {
	*converter
	secretUsers map[string][]secretUser // by the name of the Secret
}

// convertCertificates leaves out what the manager creates: the certificates of webhooks.
func (c *converter) convertCertificates() {
	certs := &certificates{converter: c, secretUsers: secretUsers(c.deployments)}
	certs.convertCertManager()
	certs.leaveOutServingSecrets()
}

func (c *certificates) convertCertManager() {
	var issuers []*bundle.Object
	serving, all := map[string]bool{}, map[string]bool{} // the names of issuers
	for _, o := range c.objects {
		if o.GroupVersionKind().Group != certManagerGroup {
			continue
		}
		c.handled[o] = true
		if !groupkind.Is(o, certificateKind) {
			issuers = append(issuers, o)
			continue
		}
		issuer, _, _ := unstructured.NestedString(o.Object, "spec", "issuerRef", "name")
		all[issuer] = true
		secret, _, _ := unstructured.NestedString(o.Object, "spec", "secretName")
		if c.servesWebhooks(o) {
			serving[issuer] = true
			c.certificateSecrets.add(o.GetNamespace(), secret)
			c.checkServing(o)
			continue
		}
		what := "a bundle cannot have a Certificate, and the manager creates certificates of webhooks only: the Certificate is not in the bundle"
		if users := c.usersOf(secret, o.GetNamespace()); len(users) > 0 {
			what += fmt.Sprintf(". No pod starts until the Secret %s exists: %s", secret, strings.Join(users, ", "))
		}
		c.report(Warning, o, "spec.secretName", what, "remove the volume and the arguments that use the Secret, or document that an administrator creates the Certificate and its issuer")
	}
	for _, o := range issuers {
		c.checkIssuer(o, serving[o.GetName()], all[o.GetName()])
	}
}

// usersOf returns the fields that refer to a Secret which is not optional.
func (c *certificates) usersOf(secret, namespace string) []string {
	return lists.FilterMap(c.secretUsers[secret], func(u secretUser) (string, bool) {
		return fmt.Sprintf("%s of Deployment %s", u.field, u.deployment.typed.Name), c.same(u.deployment.namespace(), namespace)
	})
}

// servesWebhooks reports whether a Certificate is for webhooks: its CA is injected into them, or it has the name of their Service.
func (c *certificates) servesWebhooks(o *bundle.Object) bool {
	for from := range c.injected {
		namespace, name, _ := strings.Cut(from, "/")
		if name == o.GetName() && c.same(namespace, o.GetNamespace()) {
			return true
		}
	}
	names, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "dnsNames")
	return slices.ContainsFunc(names, c.isServiceName)
}

// isServiceName reports whether a DNS name is that of a Service that webhooks call.
func (c *certificates) isServiceName(dns string) bool {
	return slices.ContainsFunc(c.services, func(s *calledService) bool {
		name, rest, _ := strings.Cut(dns, ".")
		namespace, _, _ := strings.Cut(rest, ".")
		return s.called.Len() > 0 && name == s.typed.Name && (c.same(namespace, s.namespace()) || !c.homes.Has(namespace))
	})
}

// policyFields are the fields of a Certificate that an administrator can choose for the manager's certificates.
var policyFields = []string{"duration", "renewBefore", "renewBeforePercentage", "privateKey"}

func (c *certificates) checkServing(o *bundle.Object) {
	spec, _ := o.Object["spec"].(map[string]any)
	names, _, _ := unstructured.NestedStringSlice(spec, "dnsNames")
	other := lists.Filter(names, func(name string) bool { return !c.isServiceName(name) })
	for _, field := range []string{"ipAddresses", "uris", "emailAddresses"} {
		more, _, _ := unstructured.NestedStringSlice(spec, field)
		other = append(other, more...)
	}
	if len(other) > 0 {
		c.report(Note, o, "spec.dnsNames", fmt.Sprintf("the manager's certificate has the names of the webhook's Service only, and not %s", strings.Join(other, ", ")), "if other clients call the server by these names, give them a server with a certificate of its own")
	}
	if !isEmpty(spec["keystores"]) {
		c.report(Warning, o, "spec.keystores", "the manager's Secret has the certificate and the key in PEM only, as tls.crt and tls.key", "let the server read tls.crt and tls.key")
	}
	chosen := lists.Filter(policyFields, func(field string) bool { return !isEmpty(spec[field]) })
	if len(chosen) > 0 {
		c.report(Note, o, "spec."+chosen[0], fmt.Sprintf("the manager ignores %s: an administrator sets the validity and the kind of key", strings.Join(chosen, ", ")), "if the default policy does not suit, document the annotations of the Subscription's config")
	}
}

// checkIssuer reports issuers with a purpose that the manager's own CA does not have.
func (c *certificates) checkIssuer(o *bundle.Object, serving, used bool) {
	spec, _ := o.Object["spec"].(map[string]any)
	local := spec["selfSigned"] != nil || spec["ca"] != nil
	switch {
	case serving && local:
	case serving:
		c.report(Note, o, "spec", "the manager signs certificates itself, unless an administrator chooses this issuer; the issuer is not in the bundle", "if it must sign, document: bundle install --certificates cert-manager --issuer "+o.GetKind()+"/"+o.GetName())
	case used:
		c.report(Warning, o, "kind", "a bundle cannot have an object of cert-manager: the object is not in the bundle", "document that an administrator creates it, with its Certificates")
	default:
		c.report(Note, o, "kind", "a bundle cannot have an object of cert-manager, and no Certificate of the input uses this one: the object is not in the bundle", "if the operator uses it, document that an administrator creates it")
	}
}

// leaveOutServingSecrets leaves out the Secrets in which Helm charts store certificates that they create.
func (c *certificates) leaveOutServingSecrets() {
	for _, o := range c.objects {
		secret, is := o.Typed.(*corev1.Secret)
		if !is || !slices.ContainsFunc(c.deployments, func(d *deployment) bool {
			return d.called && c.same(d.namespace(), secret.Namespace) && mountsSecret(d.pod(), secret.Name)
		}) {
			continue
		}
		if secret.Type == corev1.SecretTypeTLS || c.certificateSecrets.has(c.namespaces, secret.Namespace, secret.Name) {
			c.handled[o] = true
			c.certificateSecrets.add(secret.Namespace, secret.Name)
			c.report(Note, o, "data", "the Secret has the certificate of a webhook, and is not in the bundle: the manager creates the certificate", "if the certificate is also for another server, document that an administrator creates the Secret")
		}
	}
}

func mountsSecret(pod corev1.PodSpec, name string) bool {
	return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == name })
}
