package backends

import (
	"net"
	"strconv"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/reviews"
)

// HostPort returns the address to dial.
func HostPort(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// Endpoint is an address at which a webhook must answer.
type Endpoint struct {
	Address    string // host:port
	ServerName string // in the certificate
	What       string // for messages: "pod ns/name", "service ns/name"
	Deployment string
	Trust      string // the injected caBundle that applies instead, PEM
	Service    string
	Port       int32 // of the Service
	Virtual    bool  // the cluster IP of the Service

	Review reviews.Request // to send after the handshake; the zero value sends nothing
}

// Answer is the result of dialling an endpoint. Reason and Message are empty if it serves.
type Answer struct {
	Reason  string
	Message string
	// ThroughAPIServer is set if the manager cannot dial the endpoints.
	ThroughAPIServer bool
}

// Serves reports whether the endpoint serves.
func (a Answer) Serves() bool { return a.Reason == "" }
