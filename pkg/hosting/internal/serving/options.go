package serving

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/pflag"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	cliflag "k8s.io/component-base/cli/flag"
)

// Options are the flags of the webhooks' port, which are those of API servers.
type Options struct {
	CertFile, KeyFile string // of the serving certificate

	bindAddress  net.IP
	port         int
	shareAddress bool
	sharePort    bool

	certDir string
	sni     []cliflag.NamedCertKey

	minVersion       string
	cipherSuites     []string
	curvePreferences []int32
	disableHTTP2     bool
	maxStreams       int
}

// NewOptions returns Options with their defaults.
func NewOptions() *Options {
	return &Options{
		bindAddress: net.IPv4zero,
		port:        9443,
		certDir:     "/tmp/k8s-webhook-server/serving-certs",
	}
}

// AddFlags adds the flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.IPVar(&o.bindAddress, "bind-address", o.bindAddress,
		"IP address on which webhooks are served. With 0.0.0.0 or ::, on all interfaces and IP address families.")
	fs.IntVar(&o.port, "secure-port", o.port, "Port on which webhooks are served over HTTPS.")
	fs.BoolVar(&o.sharePort, "permit-port-sharing", o.sharePort,
		"Use SO_REUSEPORT when binding the port, so that several processes can bind the same address and port.")
	fs.BoolVar(&o.shareAddress, "permit-address-sharing", o.shareAddress,
		"Use SO_REUSEADDR when binding the port, so that binding does not wait for sockets in the state TIME_WAIT.")
	fs.StringVar(&o.certDir, "cert-dir", o.certDir,
		"Directory of the serving certificate, tls.crt, and its key, tls.key. --tls-cert-file and --tls-private-key-file take precedence.")
	fs.StringVar(&o.CertFile, "tls-cert-file", o.CertFile, "File of the serving certificate, followed by its intermediate CAs.")
	fs.StringVar(&o.KeyFile, "tls-private-key-file", o.KeyFile, "File of the private key of --tls-cert-file.")
	fs.Var(cliflag.NewNamedCertKeyArray(&o.sni), "tls-sni-cert-key",
		"Another certificate and key for clients that ask for its names, as CERTFILE,KEYFILE or CERTFILE,KEYFILE:NAME,NAME. "+
			"A name may begin with a wildcard. Without names, the names of the certificate are used. Repeat the flag for several certificates.")
	fs.StringVar(&o.minVersion, "tls-min-version", o.minVersion,
		"Minimum TLS version (default VersionTLS12). Possible values: "+strings.Join(cliflag.TLSPossibleVersions(), ", "))
	fs.StringSliceVar(&o.cipherSuites, "tls-cipher-suites", o.cipherSuites,
		"Cipher suites (default: those of Go). \nPreferred values: "+strings.Join(cliflag.PreferredTLSCipherNames(), ", ")+
			". \nInsecure values: "+strings.Join(cliflag.InsecureTLSCipherNames(), ", ")+".")
	fs.Int32SliceVar(&o.curvePreferences, "tls-curve-preferences", o.curvePreferences,
		"Numeric CurveIDs of Go's crypto/tls (https://pkg.go.dev/crypto/tls#CurveID) that key exchanges may use, in any order (default: those of Go).")
	fs.BoolVar(&o.disableHTTP2, "disable-http2-serving", o.disableHTTP2, "Do not serve HTTP/2.")
	fs.IntVar(&o.maxStreams, "http2-max-streams-per-connection", o.maxStreams,
		fmt.Sprintf("Maximum number of streams of an HTTP/2 connection; %d if zero.", defaultMaxStreams))
}

// Complete checks the flags and sets the paths of the certificate's files.
func (o *Options) Complete() error {
	o.CertFile = cmp.Or(o.CertFile, filepath.Join(o.certDir, "tls.crt"))
	o.KeyFile = cmp.Or(o.KeyFile, filepath.Join(o.certDir, "tls.key"))
	if o.port < 1 || o.port > 65535 {
		return fmt.Errorf("--secure-port=%d must be between 1 and 65535", o.port)
	}
	return nil
}

// Listen binds the port, and returns the Server of the flags. Its certificate is not set.
func (o *Options) Listen() (*Server, error) {
	s := &Server{DisableHTTP2: o.disableHTTP2, MaxStreams: o.maxStreams}
	var errs [3]error
	s.MinVersion, errs[0] = cliflag.TLSVersion(o.minVersion)
	s.CipherSuites, errs[1] = cliflag.TLSCipherSuites(o.cipherSuites)
	s.CurvePreferences, errs[2] = cliflag.TLSCurvePreferences(o.curvePreferences)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	for _, pair := range o.sni {
		content, err := dynamiccertificates.NewDynamicSNIContentFromFiles("sni-serving-cert", pair.CertFile, pair.KeyFile, pair.Names...)
		if err != nil {
			return nil, fmt.Errorf("--tls-sni-cert-key: %w", err)
		}
		s.SNICertificates = append(s.SNICertificates, content)
	}
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error { return shareSocket(conn, o.shareAddress, o.sharePort) }}
	address := net.JoinHostPort(o.bindAddress.String(), strconv.Itoa(o.port))
	listener, err := config.Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--bind-address and --secure-port: %w", err)
	}
	s.Listener = listener
	return s, nil
}
