package exemptions

import ()

// networkingGroup has the kinds by which API servers remember which cluster IPs are taken.
const networkingGroup = "networking.k8s.io"

// addressExemption are the cluster IPs of the own Services. For each the API server makes an
// IPAddress before it stores the Service: one that is refused refuses the Service.
func (o own) addressExemption() Exemption {
	const service = "o.spec.parentRef."
	return Exemption{
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

// rangeExemption is the range of all cluster IPs.
func rangeExemption() Exemption {
	return Exemption{
		Name: "cluster-addresses", What: "the range of the cluster's cluster IPs",
		subjects: clusterSubjects(networkingGroup, "servicecidrs", "status"), which: named([]string{defaultRange}), who: userIn(apiServer),
	}
}
