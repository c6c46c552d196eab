package hosting

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// registrationOptions say whether and how the process registers its webhooks.
type registrationOptions struct {
	enabled    bool
	service    string
	url        string
	caFile     string
	selfSigned bool
	secret     string

	// client is what the flags come to, but for path and caBundle.
	client admissionregistrationv1.WebhookClientConfig
	// hosts are the names and addresses that a certificate must be for.
	hosts []string
	// secretNamespace and secretName are of the Secret by which replicas share a self-signed
	// certificate; empty if they do not.
	secretNamespace, secretName string
}

func (o *registrationOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.enabled, "register-webhooks", false,
		"Write the webhook configurations, and the conversion of CustomResourceDefinitions, once the webhooks are served.")
	fs.StringVar(&o.service, "webhook-service", "",
		"NAMESPACE/NAME or NAMESPACE/NAME:PORT of the Service by which API servers reach the webhooks.")
	fs.StringVar(&o.url, "webhook-url", "",
		"URL by which API servers reach the webhooks, like https://127.0.0.1:9443 for a static pod beside each API server.")
	fs.StringVar(&o.caFile, "webhook-ca-file", "",
		"PEM file of the authorities that API servers are to trust (default: ca.crt beside the serving certificate).")
	fs.BoolVar(&o.selfSigned, "self-signed-certificate", false,
		"At the start, unless there is one that is good for a month, make a serving certificate and its authority, ca.crt, for --webhook-service or --webhook-url. With --register-webhooks, replicas share it by a Secret and renew it.")
	fs.StringVar(&o.secret, "certificate-secret", "",
		"NAMESPACE/NAME of the Secret by which replicas share a self-signed certificate (default: BUILDER-SERVICE-certificate in the Service's namespace; with --webhook-url, BUILDER-certificate in the pod's). Without permission for it each replica has a certificate of its own.")
}

func (o *registrationOptions) complete(process string) error {
	if !o.enabled && !o.selfSigned {
		return nil
	}
	return errors.Join(o.completeClient(), o.completeSecret(process))
}

// completeSecret leaves the Secret out where nobody could have it trusted, or it has no place.
func (o *registrationOptions) completeSecret(process string) error {
	if !o.enabled || !o.selfSigned {
		return nil
	}
	namespace, name, isPair := strings.Cut(o.secret, "/")
	switch {
	case o.secret == "" && o.client.Service != nil:
		namespace, name = o.client.Service.Namespace, process+"-"+o.client.Service.Name+"-certificate"
	case o.secret == "":
		namespace, name = podNamespace(), process+"-certificate"
	case !isPair || namespace == "" || name == "" || strings.Contains(name, "/"):
		return fmt.Errorf("--certificate-secret=%s: say NAMESPACE/NAME", o.secret)
	}
	if namespace != "" {
		o.secretNamespace, o.secretName = namespace, name
	}
	return nil
}

func (o *registrationOptions) completeClient() error {
	switch {
	case (o.service == "") == (o.url == ""):
		return errors.New("--register-webhooks and --self-signed-certificate need one of --webhook-service and --webhook-url")
	case o.service != "":
		return o.completeService()
	default:
		return o.completeURL()
	}
}

func (o *registrationOptions) completeService() error {
	address, portText, hasPort := strings.Cut(o.service, ":")
	namespace, name, _ := strings.Cut(address, "/")
	port := uint64(443)
	var err error
	if hasPort {
		port, err = strconv.ParseUint(portText, 10, 16)
	}
	if namespace == "" || name == "" || strings.Contains(name, "/") || port == 0 || err != nil {
		return fmt.Errorf("--webhook-service=%s: say NAMESPACE/NAME or NAMESPACE/NAME:PORT", o.service)
	}
	number := int32(port)
	o.client.Service = &admissionregistrationv1.ServiceReference{Namespace: namespace, Name: name, Port: &number}
	host := name + "." + namespace + ".svc"
	o.hosts = []string{host, host + ".cluster.local"}
	return nil
}

// completeURL leaves to the API server what it allows in a URL, but for the path.
func (o *registrationOptions) completeURL() error {
	u, err := url.Parse(o.url)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return fmt.Errorf("--webhook-url=%s: say https://HOST:PORT; the webhooks' paths are added", o.url)
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

// clientConfig is how API servers reach a webhook at a path.
func (o *registrationOptions) clientConfig(path string, caBundle []byte) admissionregistrationv1.WebhookClientConfig {
	config := *o.client.DeepCopy()
	config.CABundle = caBundle
	if config.Service != nil {
		config.Service.Path = &path
	} else {
		*config.URL += path
	}
	return config
}

// caPath is where the authorities are.
func (o *registrationOptions) caPath(c *certificate) string {
	if o.caFile != "" {
		return o.caFile
	}
	return filepath.Join(filepath.Dir(c.certFile), "ca.crt")
}

func (o *registrationOptions) readCA(c *certificate) ([]byte, error) {
	bundle, err := os.ReadFile(o.caPath(c))
	if err != nil {
		return nil, fmt.Errorf("--webhook-ca-file: %w", err)
	}
	return bundle, nil
}

func (o *registrationOptions) files(c *certificate) pairFiles {
	return pairFiles{cert: c.certFile, key: c.keyFile, ca: o.caPath(c)}
}

// makeCertificate makes one if it was asked for and the API server need not be asked first.
func (o *registrationOptions) makeCertificate(c *certificate) error {
	switch {
	case !o.selfSigned || o.secretName != "":
		return nil
	case o.enabled:
		// At the start any certificate does that is valid: it is renewed while it is served.
		return makeSelfSigned(o.files(c), o.hosts, renewedLife, 0)
	default:
		return makeSelfSigned(o.files(c), o.hosts, selfSignedLife, selfSignedSpare)
	}
}
