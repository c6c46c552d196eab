package kube

import "net/netip"

func etcdFlags(f files, address netip.Addr) []string {
	client := "http://" + address.String() + ":" + etcdClientPort
	peer := "http://" + address.String() + ":" + etcdPeerPort
	return []string{
		"--data-dir=" + f.path("etcd"),
		"--unsafe-no-fsync", // the data does not outlive the test
		"--log-level=warn",
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
	}
}

// apiServerFlags are for an API server with a port that reads etcd at an address with a port.
func apiServerFlags(f files, address netip.Addr, port, etcd string) []string {
	return []string{
		"--etcd-servers=http://" + etcd,
		"--bind-address=" + address.String(),
		"--advertise-address=" + address.String(),
		"--secure-port=" + port,
		"--endpoint-reconciler-type=none", // a loopback address is no endpoint
		"--service-cluster-ip-range=10.0.0.0/16",
		"--enable-aggregator-routing=true", // calls endpoints itself: there is no kube-proxy
		// The clients of a package's tests share one connection, on which their watches reach the
		// 100 streams of the default. At that limit the server now and then refuses a request with
		// PROTOCOL_ERROR, because it counts a stream that has just ended for longer than the client.
		"--http2-max-streams-per-connection=1000",
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--token-auth-file=" + f.path("tokens.csv"),
		"--tls-cert-file=" + f.path("apiserver.crt"),
		"--tls-private-key-file=" + f.path("apiserver.key"),
		"--cert-dir=" + string(f),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + f.path("apiserver.key"),
		"--service-account-signing-key-file=" + f.path("apiserver.key"),
		// It refuses pods until a controller, of which there is none, has made the namespace's service account.
		"--disable-admission-plugins=ServiceAccount",
		"--audit-policy-file=" + f.path("audit.yaml"),
		"--audit-log-path=" + string(f.audit(port)),
		"--audit-log-maxsize=1000", // megabytes: no test loses the beginning of its count
	}
}
