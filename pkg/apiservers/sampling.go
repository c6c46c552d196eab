package apiservers

import (
	"fmt"
	"math"
)

// Answer is that of an API server, on a connection of its own to an address that leads to any of them.
type Answer struct {
	// Certificate identifies the certificate that the API server serves.
	Certificate string
	// First is set if the API server continued the TLS session of the first connection: it is the one that answered there.
	First bool
}

const (
	// missProbability limits the probability that an API server is never asked. A rotation may ask a hundred times until the
	// last API server is no longer behind: the limit for all of them together is one in a million.
	missProbability = 1e-8
	// maxRequests limits the load on API servers.
	maxRequests = 200
)

// Requests returns on how many connections API servers must be asked if each connection leads to any of them with the same
// probability. obstacle is why that is not possible; empty if it is.
func Requests(servers int) (requests int, obstacle string) {
	switch {
	case servers < 1:
		return 0, "the number of API servers is not known, because none has a Lease in namespace " + IdentityNamespace
	case servers == 1:
		return 1, ""
	}
	n := float64(servers)
	requests = int(math.Ceil(math.Log(missProbability/n) / math.Log1p(-1/n)))
	if requests > maxRequests {
		return 0, fmt.Sprintf("%d API servers share an address, and it would take %d requests to ask all of them", servers, requests)
	}
	return requests, ""
}

// Distinct reports whether as many certificates as API servers have answered.
func Distinct(answers []Answer, servers int) bool {
	return certificates(answers) >= servers
}

// Missed returns why an API server may not have been asked although there were as many answers as Requests requires; empty if
// all were asked. API servers with certificates of their own must all have answered. If they have the same certificate,
// about as many connections as expected must have led to other API servers than the first connection.
func Missed(answers []Answer, servers int) string {
	if Distinct(answers, servers) {
		return ""
	}
	if different := certificates(answers); different != 1 {
		return fmt.Sprintf("%d API servers have a Lease, and %d of them answered %d requests", servers, different, len(answers))
	}
	first := 0
	for _, answer := range answers {
		if answer.First {
			first++
		}
	}
	others := len(answers) - 1 - first // the first connection continues no session
	expected := float64(len(answers)-1) * (1 - 1/float64(servers))
	switch {
	case first == 0:
		return "API servers have the same certificate and continue no TLS session: it is not known which of them answered"
	case float64(others) < expected/2:
		return fmt.Sprintf("%d API servers have a Lease, and one of them answered %d of %d requests", servers, first+1, len(answers))
	default:
		return ""
	}
}

func certificates(answers []Answer) int {
	all := map[string]bool{}
	for _, answer := range answers {
		all[answer.Certificate] = true
	}
	return len(all)
}
