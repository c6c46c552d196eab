package exemptions

import ()

// otherDeployments are the manager's writes of the Deployments that serve no webhook. The
// webhook's own may come after them, in the order of the ClusterServiceVersion: it does not
// begin before the first exists. Their pods are the webhook's to judge.
func (o own) otherDeployments(manager string) []Exemption {
	if len(o.others) == 0 {
		return nil
	}
	return []Exemption{{
		Name: "other-deployments", What: "the manager's writes of its operator's other Deployments",
		subjects: namespacedSubjects("apps", "deployments"), namespaces: []string{o.namespace}, which: named(o.others), who: userIn(manager),
	}}
}
