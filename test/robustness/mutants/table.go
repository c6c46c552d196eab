package main

// mutant is one deliberate fault in the code of the manager.
type mutant struct {
	name string
	file string // from the root of the repository
	// old occurs once in the file, and is replaced.
	old, new string
}

// mutants are listed by the part of the manager.
var mutants = []mutant{
	// The order of a rotation.
	{"the settle time is not waited for", "pkg/certs/propagation.go", "	if m.Propagation == nil {\n		m.d.Need", "	if true {\n		return true\n	}\n	if m.Propagation == nil {\n		m.d.Need"},
	{"what is not known of API servers counts as proved", "pkg/certs/propagation.go", `return o != nil && o.Unknown == "" && len(o.Behind) == 0`, `return o != nil`},
	{"API servers are not asked", "pkg/controller/prober/apiservers.go", "for _, marker := range o.markers {", "for _, marker := range o.markers[:0] {"},
	{"pods get the next certificate before registrations trust it", "pkg/certs/distribution.go", `if m.d.Message = m.missingTrust(); m.d.Message != "" {`, `if m.d.Message = m.missingTrust(); m.d.Message == "-" {`},
	{"the previous CA is dropped when pods get the next certificate", "pkg/certs/secretedit.go", "		previous = append([]*x509.Certificate{e.current.ca()}, previous...)\n", ""},
	{"the previous CA is dropped before pods serve the next certificate", "pkg/certs/evidence.go", "return e.count(ServesCurrent) == len(e.Backends)", "return true"},
	{"pods that cannot be dialled count as updated", "pkg/certs/evidence.go", "return e.count(ServesCurrent) == len(e.Backends)", "return e.count(ServesOther) == 0"},
	{"one updated pod is enough", "pkg/certs/evidence.go", "return e.count(ServesCurrent) == len(e.Backends)", "return e.count(ServesCurrent) > 0"},
	{"evidence about another certificate counts", "pkg/certs/previousca.go", "aboutOtherLeaf := seen.Leaf != m.current.leaf()", "aboutOtherLeaf := false"},
	{"previous CAs always count as expired", "pkg/certs/rotation.go", "return !m.previousExpiresAt.IsZero() && !m.now.Before(m.previousExpiresAt)", "return !m.previousExpiresAt.IsZero()"},
	{"the next certificate is given to pods at once", "pkg/certs/distribution.go", "case m.nothingWaits() && m.requireLive(), m.settling() && m.propagated():", "case true:"},
	{"an order to rotate is not recorded", "pkg/certs/secretedit.go", "	if e.RotationRequest != \"\" {\n		e.secret.Annotations", "	if e.RotationRequest == \"-\" {\n		e.secret.Annotations"},
	{"nothing is polled for after a promotion", "pkg/certs/previousca.go", "	m.d.PollAt = m.pollAt(planned.at, seen.ThroughAPIServer)\n", ""},
	// Live reads.
	{"the cache counts as live", "pkg/certs/decide.go", "	if !m.Live {\n		m.d.Need = NeedLive\n	}\n	return m.Live", "	return true"},
	{"trust ends by the cache", "pkg/certs/previousca.go", "if m.Evidence == nil || !m.Live {", "if m.Evidence == nil {"},
	// Certificates.
	{"the name that API servers verify is missing", "pkg/certs/mint.go", `return []string{name, name + ".svc", name + ".svc.cluster.local"}`, `return []string{name, name + ".svc.cluster.local"}`},
	{"the key of a certificate can sign others", "pkg/certs/mint.go", "		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},\n", "		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},\n		IsCA:                  true,\n"},
	// Checks before a registration.
	{"no check before a call", "pkg/rollout/register.go", "if view, blocked := c.firstBlocking(callChecks); blocked {", "if view, blocked := c.firstBlocking(callChecks); blocked && false {"},
	{"no handshake before a registration", "pkg/rollout/checks.go", "	{run: candidate.endpointsServe},\n", ""},
	{"no label before a registration", "pkg/rollout/checks.go", "	{run: candidate.namespacesLabelled},\n", ""},
	{"no complete Deployment before a registration", "pkg/rollout/checks.go", "	{run: candidate.deploymentAvailable},\n", ""},
	{"no certificate before a registration", "pkg/rollout/checks.go", "	{run: candidate.certificateIssued},\n", ""},
	{"namespaces get no label", "pkg/controller/groups/namespaces.go", "	for _, label := range add {\n		labels[label]", "	for _, label := range add[:0] {\n		labels[label]"},
	// Registrations that exist.
	{"a live registration is not kept as desired", "pkg/rollout/register.go", "	default:\n		r.plan.ensureRegistration(desired, c.live)\n	}\n	return r.reach", "	default:\n	}\n	return r.reach"},
	{"a deleted registration is not observed", "pkg/controller/watch/watch.go", "	h.enqueueOwners(queue.Urgent, before, after) // another client may have unregistered a webhook\n", ""},
	// Uninstallation and upgrades.
	{"webhooks stay when an operator is uninstalled", "pkg/controller/uninstall/registrations.go", "	if err := u.deleteProven(ctx, csv, all, ownership); err != nil {\n		return deleted, err\n	}\n	return deleted, keptByFinalizers", "	if err := u.deleteProven(ctx, csv, all[:0], ownership); err != nil {\n		return deleted, err\n	}\n	return deleted, keptByFinalizers"},
	{"pods may end before API servers have observed the end of webhooks", "pkg/controller/deletedcsv.go", "	return c.Rollout.Settle\n", "	return 0\n"},
	{"a replaced version is not deleted", "pkg/controller/csv.go", "	return requeue, write.Delete(ctx, c.OLM.ClusterServiceVersions(csv.Namespace), csv)", "	if csv.Name == \"\" {\n		return requeue, write.Delete(ctx, c.OLM.ClusterServiceVersions(csv.Namespace), csv)\n	}\n	return requeue, nil"},
	{"a deleted version passes nothing on", "pkg/controller/deletedcsv.go", "	return relatives.Successor(backends.Installed), backends, nil\n", "	return nil, backends, nil\n"},
	// Caches and status.
	{"caches need not show earlier writes", "pkg/controller/informers/expectations.go", "if now.Sub(expected.at) < e.Grace && !expected.shownBy(caches) {", "if e.Grace < 0 && !expected.shownBy(caches) {"},
	{"an unchanged status is written", "pkg/controller/reporter/rollout.go", "	if equality.Semantic.DeepEqual(current.Status, status) {\n		return rollout.Requeue{}, nil", "	if !equality.Semantic.DeepEqual(status, status) {\n		return rollout.Requeue{}, nil"},
	{"changes of pods are not observed", "pkg/controller/watch/watch.go", "		{h.Caches.Pods.Informers, h.ownersChanged},\n", ""},
	{"changes of Secrets are not observed", "pkg/controller/watch/watch.go", "		{h.Caches.Secrets.Informers, h.ownersChanged},\n", ""},
}
