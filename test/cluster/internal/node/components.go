package node

import "fmt"

type component struct {
	name    string // its log's
	program string
	args    []string
}

// sole returns the only component of a program.
func sole(program string, args ...string) component {
	return component{name: program, program: program, args: args}
}

func etcd() component {
	return sole("etcd",
		"--data-dir=/run/etcd",
		"--unsafe-no-fsync", // the data does not outlive the processes
		"--log-level=warn",
		"--listen-client-urls=http://"+etcdAddress,
		"--advertise-client-urls=http://"+etcdAddress,
		"--listen-peer-urls=http://127.0.0.1:2380",
		"--initial-advertise-peer-urls=http://127.0.0.1:2380",
		"--initial-cluster=default=http://127.0.0.1:2380",
	)
}

func apiServer(l Layout, number int) component {
	ip := l.apiServerIP(number)
	return component{numbered("kube-apiserver", number), "kube-apiserver", append(oneOfSeveral(l), []string{
		"--etcd-servers=http://" + etcdFor(l, number),
		"--bind-address=" + ip,
		"--advertise-address=" + ip,
		"--secure-port=" + apiServerPort,
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
		"--audit-log-path=" + l.AuditLog(number),
		"--audit-log-maxsize=1000", // megabytes: hours of tests before a count loses its beginning
		"--audit-log-maxbackup=1",
	}...)}
}

// oneOfSeveral are the flags of each API server if there are several. All of them are in the endpoints of the Service
// kubernetes. One that ends is unready for longer than balancers take to notice it, and then ends its watches, for
// which it would wait for a minute.
func oneOfSeveral(l Layout) []string {
	if l.APIServers == 1 {
		return nil
	}
	return []string{
		"--endpoint-reconciler-type=lease",
		"--shutdown-delay-duration=2s",
		"--shutdown-watch-termination-grace-period=2s",
	}
}

// etcdFor is the address at which an API server reaches etcd. Each of several has a link of its own.
func etcdFor(l Layout, number int) string {
	if l.APIServers == 1 {
		return etcdAddress
	}
	return fmt.Sprintf("127.0.0.1:%d", 2400+number)
}

func controllerManager(l Layout) component {
	kubeconfig := l.Conf("controller-manager.kubeconfig")
	return sole("kube-controller-manager",
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
		"--use-service-account-credentials",
		"--service-account-private-key-file="+l.PKI("service-accounts.key"),
		"--root-ca-file="+l.PKI("ca.crt"),
		"--cluster-signing-cert-file="+l.PKI("ca.crt"),
		"--cluster-signing-key-file="+l.PKI("ca.key"),
		"--flex-volume-plugin-dir=/run/flex", // its default is a path outside the node's own mounts
		"--kube-api-qps=500",                 // one small node: nothing to protect the API server from
		"--kube-api-burst=1000",
	)
}

func scheduler(l Layout) component {
	kubeconfig := l.Conf("scheduler.kubeconfig")
	return sole("kube-scheduler",
		"--kubeconfig="+kubeconfig,
		"--authentication-kubeconfig="+kubeconfig,
		"--authorization-kubeconfig="+kubeconfig,
		"--bind-address=127.0.0.1",
		"--leader-elect=false",
	)
}

func containerd(l Layout) component {
	return sole("containerd", "--config="+l.Conf("containerd.toml"))
}

func kubelet(l Layout) component {
	return sole("kubelet",
		"--config="+l.Conf("kubelet.yaml"),
		"--kubeconfig="+l.Conf("kubelet.kubeconfig"),
		"--hostname-override="+Name,
		"--node-ip="+IP,
		"--root-dir=/var/lib/kubelet",
	)
}

func kubeProxy(l Layout) component {
	return sole("kube-proxy", "--config="+l.Conf("kube-proxy.yaml"), "--hostname-override="+Name)
}
