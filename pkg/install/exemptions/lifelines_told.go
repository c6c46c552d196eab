package exemptions

import (
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// certManagerGroup has the kinds by which cert-manager is told what to issue.
const certManagerGroup = "cert-manager.io"

// toldExemptions are the writes by which others than Kubernetes' own controllers are told what
// the pods need: the API server, which passes requests on to their APIServices and says
// whether they are available, and cert-manager, whoever may choose it some day. What
// cert-manager itself writes cannot be told from what others do: its account is not known.
func (o own) toldExemptions(manager, machinery string) []Exemption {
	orders := Exemption{
		Name: "own-orders", What: "the manager's orders of its certificates",
		subjects:   append(namespacedSubjects(certManagerGroup, "certificates"), namespacedSubjects(certManagerGroup, "issuers")...),
		namespaces: []string{o.namespace}, which: named(o.orders), who: userIn(manager),
	}
	if len(o.apis) == 0 {
		return []Exemption{orders}
	}
	return []Exemption{orders, {
		Name: "own-apiservices", What: "its own APIServices",
		subjects: clusterSubjects(apiregistrationv1.GroupName, "apiservices", "status"), which: named(o.apis), who: machinery,
	}}
}
