package certs

// DNSNames are the names that the serving certificate behind a Service has to
// carry. The API server calls "service.namespace.svc"; the others are what OLM
// puts into its certificates, and in-cluster clients may rely on them.
func DNSNames(service, namespace string) []string {
	name := service + "." + namespace
	return []string{name, name + ".svc", name + ".svc.cluster.local"}
}
