package takeover

// Permissions returns what the commands that change a cluster need, in addition to reading. A resource is written as
// RESOURCE/SUBRESOURCE.GROUP.
func Permissions(s *Snapshot) []Permission {
	all := []Permission{
		{Verb: "patch", Resource: "clusterserviceversions.operators.coreos.com"},
		{Verb: "delete", Resource: "webhookrollouts.olm-webhook-manager.io"},
		{Verb: "delete", Resource: "mutatingadmissionpolicies.admissionregistration.k8s.io"},
		{Verb: "delete", Resource: "mutatingadmissionpolicybindings.admissionregistration.k8s.io"},
	}
	for _, p := range []*Program{s.OLM, s.Manager} {
		if p != nil {
			all = append(all, Permission{Verb: "patch", Resource: "deployments/scale.apps", Namespace: p.Namespace})
		}
	}
	return all
}
