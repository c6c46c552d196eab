package backends

import (
	"net"
	"strconv"

	"github.com/olm-webhook-manager/olm-webhook-manager/pkg/install/reviews"
)

// HostPort returns the address of a port of a host.
func HostPort(host string, port int32) string {
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// Endpoint is an address that a webhook must answer on.
type Endpoint struct {
	Address    string // host:port
	ServerName string // in the certificate
	What       string // "pod ns/name", "service ns/name": for messages
	Deployment string // whose trust applies
	Trust      string // that applies instead, PEM, where it is injected
	Service    string // that leads to it
	Port       int32  // of the Service
	Virtual    bool   // it is the Service's own address: nobody listens there

	Review reviews.Request // to send once the handshake is finished; the zero value sends nothing
}

// Answer is what dialling an endpoint gave. Reason and Message are empty when it
// serves with a trusted certificate, and answers the review if there is one.
type Answer struct {
	Reason  string
	Message string
	// ThroughAPIServer tells that the API server called the Service: the manager cannot
	// dial its endpoints, or must not.
	ThroughAPIServer bool
}

// Serves tells whether the endpoint may be called.
func (a Answer) Serves() bool { return a.Reason == "" }
