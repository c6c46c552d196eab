package registration

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/certificates"
	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/hosting/internal/pod"
)

// Options are the flags that configure whether and how the process registers its webhooks.
type Options struct {
	Enabled    bool
	SelfSigned bool
	service    string
	url        string
	caFile     string
	secret     string
	// client is the result of the flags, without path and caBundle.
	client admissionregistrationv1.WebhookClientConfig
	// hosts are the names and addresses that a certificate must cover.
	hosts []string
	// secretNamespace and secretName are the Secret of a shared self-signed certificate; empty if it is not shared.
	secretNamespace, secretName string
}

// AddFlags adds the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Enabled, "register-webhooks", false,
		"Write the webhook configurations, and spec.conversion of CustomResourceDefinitions, when the webhooks are served.")
	fs.StringVar(&o.service, "webhook-service", "",
		"Service through which API servers reach the webhooks, as NAMESPACE/NAME or NAMESPACE/NAME:PORT.")
	fs.StringVar(&o.url, "webhook-url", "",
		"URL at which API servers reach the webhooks, such as https://127.0.0.1:9443 for a static pod on the node of each API server.")
	fs.StringVar(&o.caFile, "webhook-ca-file", "",
		"PEM file with the CAs that API servers should trust (default: ca.crt in the directory of the serving certificate).")
	fs.BoolVar(&o.SelfSigned, "self-signed-certificate", false,
		"At the start, create a serving certificate and its CA, ca.crt, for --webhook-service or --webhook-url, unless the existing certificate is valid for another 30 days. With --register-webhooks, replicas share the certificate in a Secret and renew it.")
	fs.StringVar(&o.secret, "certificate-secret", "",
		"Secret in which replicas share a self-signed certificate, as NAMESPACE/NAME (default: BUILDER-SERVICE-certificate in the Service's namespace; with --webhook-url, BUILDER-certificate in the pod's namespace). Without permission for it, each replica has a certificate of its own.")
}

// Complete checks the flags, and computes their result for the command with a name.
func (o *Options) Complete(process string) error {
	if !o.Enabled && !o.SelfSigned {
		return nil
	}
	return errors.Join(o.completeClient(), o.completeSecret(process))
}

// completeSecret leaves the Secret empty if the process does not register its webhooks, or has no namespace.
func (o *Options) completeSecret(process string) error {
	if !o.Enabled || !o.SelfSigned {
		return nil
	}
	namespace, name, isPair := strings.Cut(o.secret, "/")
	switch {
	case o.secret == "" && o.client.Service != nil:
		namespace, name = o.client.Service.Namespace, process+"-"+o.client.Service.Name+"-certificate"
	case o.secret == "":
		namespace, name = pod.Namespace(), process+"-certificate"
	case !isPair || namespace == "" || name == "" || strings.Contains(name, "/"):
		return fmt.Errorf("--certificate-secret=%s: write NAMESPACE/NAME", o.secret)
	}
	if namespace != "" {
		o.secretNamespace, o.secretName = namespace, name
	}
	return nil
}

func (o *Options) completeClient() error {
	switch {
	case (o.service == "") == (o.url == ""):
		return errors.New("--register-webhooks and --self-signed-certificate need one of --webhook-service and --webhook-url")
	case o.service != "":
		return o.completeService()
	default:
		return o.completeURL()
	}
}

func (o *Options) completeService() error {
	address, portText, hasPort := strings.Cut(o.service, ":")
	namespace, name, _ := strings.Cut(address, "/")
	port := uint64(443)
	var err error
	if hasPort {
		port, err = strconv.ParseUint(portText, 10, 16)
	}
	if namespace == "" || name == "" || strings.Contains(name, "/") || port == 0 || err != nil {
		return fmt.Errorf("--webhook-service=%s: write NAMESPACE/NAME or NAMESPACE/NAME:PORT", o.service)
	}
	number := int32(port)
	o.client.Service = &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name, Port: &number}
	host := name + "." + namespace + ".svc"
	o.hosts = []string{host, host + ".cluster.local"}
	return nil
}

// completeURL checks only the path and the query. The API server checks the rest of the URL.
func (o *Options) completeURL() error {
	u, err := url.Parse(o.url)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return fmt.Errorf("--webhook-url=%s: write https://HOST:PORT; the paths of the webhooks are added", o.url)
	}
	base := "https://" + u.Host
	o.client.URL = &base
	host := u.Hostname()
	if ip := net.ParseIP(host); ip != nil {
		host = ip.String()
	}
	o.hosts = []string{host}
	return nil
}

func (o *Options) clientConfig(path string, caBundle []byte) admissionregistrationv1.WebhookClientConfig {
	config := *o.client.DeepCopy()
	config.CABundle = caBundle
	if config.Service != nil {
		config.Service.Path = &path
	} else {
		*config.URL += path
	}
	return config
}

func (o *Options) files(c *certificates.Files) certificates.PairFiles {
	nextTo := filepath.Join(filepath.Dir(c.CertFile), "ca.crt")
	return certificates.PairFiles{Cert: c.CertFile, Key: c.KeyFile, CA: cmp.Or(o.caFile, nextTo)}
}

// EnsureCertificate creates a self-signed certificate if the flags require it without a Secret.
func (o *Options) EnsureCertificate(c *certificates.Files) error {
	switch {
	case !o.SelfSigned || o.secretName != "":
		return nil
	case o.Enabled:
		// At the start, any valid certificate is enough: it is renewed while it is served.
		return certificates.EnsureSelfSigned(o.files(c), o.hosts, certificates.RenewedValidity, 0)
	default:
		return certificates.EnsureSelfSigned(o.files(c), o.hosts, certificates.StaticValidity, certificates.StaticRemaining)
	}
}
