package node

type component struct {
	name string // the program's, and its log's
	args []string
}

func etcd() component {
	return component{"etcd", []string{
		"--data-dir=/run/etcd",
		"--unsafe-no-fsync", // the data does not outlive the processes
		"--log-level=warn",
		"--listen-client-urls=http://127.0.0.1:2379",
		"--advertise-client-urls=http://127.0.0.1:2379",
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=default=http://127.0.0.1:2380",
	}}
}

func apiServer(l Layout) component {
	return component{"kube-apiserver", []string{
		"--etcd-servers=http://127.0.0.1:2379",
		"--bind-address=" + IP,
		"--advertise-address=" + IP,
		"--secure-port=6443",
		"--service-cluster-ip-range=" + ServiceCIDR,
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--client-ca-file=" + l.PKI("ca.crt"),
		"--tls-cert-file=" + l.PKI("apiserver.crt"),
		"--tls-private-key-file=" + l.PKI("apiserver.key"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + l.PKI("service-accounts.pub"),
		"--service-account-signing-key-file=" + l.PKI("service-accounts.key"),
		"--kubelet-client-certificate=" + l.PKI("admin.crt"),
		"--kubelet-client-key=" + l.PKI("admin.key"),
		"--kubelet-certificate-authority=" + l.PKI("ca.crt"),
		"--kubelet-preferred-address-types=InternalIP", // the node's name is in no DNS
		"--requestheader-client-ca-file=" + l.PKI("ca.crt"),
		"--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + l.PKI("front-proxy.crt"),
		"--proxy-client-key-file=" + l.PKI("front-proxy.key"),
		"--audit-policy-file=" + l.Conf("audit.yaml"),
		"--audit-log-path=" + l.AuditLog(),
		"--audit-log-maxsize=1000", // megabytes: hours of tests before a count loses its beginning
		"--audit-log-maxbackup=1",
	}}
}

func controllerManager(l Layout) component {
	kubeconfig := l.Conf("controller-manager.kubeconfig")
	return component{"kube-controller-manager", []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file=" + l.PKI("service-accounts.key"),
		"--root-ca-file=" + l.PKI("ca.crt"),
		"--cluster-signing-cert-file=" + l.PKI("ca.crt"),
		"--cluster-signing-key-file=" + l.PKI("ca.key"),
		"--flex-volume-plugin-dir=/run/flex", // its default is a path outside the node's own mounts
		"--kube-api-qps=500",                 // one small node: nothing to protect the API server from
		"--kube-api-burst=1000",
	}}
}

func scheduler(l Layout) component {
	kubeconfig := l.Conf("scheduler.kubeconfig")
	return component{"kube-scheduler", []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
	}}
}

func containerd(l Layout) component {
	return component{"containerd", []string{"--config=" + l.Conf("containerd.toml")}}
}

func kubelet(l Layout) component {
	return component{"kubelet", []string{
		"--config=" + l.Conf("kubelet.yaml"),
		"--kubeconfig=" + l.Conf("kubelet.kubeconfig"),
		"--hostname-override=" + Name,
		"--node-ip=" + IP,
		"--root-dir=/var/lib/kubelet",
	}}
}

func kubeProxy(l Layout) component {
	return component{"kube-proxy", []string{"--config=" + l.Conf("kube-proxy.yaml"), "--hostname-override=" + Name}}
}
