package exemptions

import ()

// networkingGroup has the kinds by which API servers remember which cluster IPs are taken.
const networkingGroup = "networking.k8s.io"

// addressLifeline are the cluster IPs of the own Services. For each the API server makes an
// IPAddress before it stores the Service: one that is refused refuses the Service.
func (o own) addressLifeline() Lifeline {
	const service = "o.spec.parentRef."
	return Lifeline{
		Name: "own-addresses", What: "the cluster IPs of its own Services",
		subjects: clusterSubjects(networkingGroup, "ipaddresses"),
		which:    showing(fieldIn(service+"resource", "services"), fieldIn(service+"namespace", o.namespace), fieldIn(service+"name", o.services...)),
		who:      userIn(apiServer),
	}
}

// defaultRange is the ServiceCIDR that every API server makes when it starts, and finds
// changed when a second family of addresses is switched on: it is not healthy without.
// Others are written by people.
const defaultRange = "kubernetes"

// rangeLifeline is the range of all cluster IPs.
func rangeLifeline() Lifeline {
	return Lifeline{
		Name: "cluster-addresses", What: "the range of the cluster's cluster IPs",
		subjects: clusterSubjects(networkingGroup, "servicecidrs", "status"), which: named([]string{defaultRange}), who: userIn(apiServer),
	}
}
