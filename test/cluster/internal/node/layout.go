// Package node is the inside of the cluster: PID 1 of a set of Linux namespaces of
// its own, in which it starts every component. When that one process ends, the kernel
// ends everything in it, and no network, mount or process is left behind.
package node

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// The addresses are fixed: one machine has one cluster, and tests know them.
const (
	Name        = "node1"
	IP          = "172.30.0.2" // the node's end of the only link into the cluster
	HostIP      = "172.30.0.1" // the machine's end
	LinkSubnet  = "/30"
	PodCIDR     = "10.244.0.0/24"
	ServiceCIDR = "10.96.0.0/16"
	Server      = "https://" + IP + ":6443"

	// APIServerCIDR has an address of the node for each API server, if there are several: then IP is the balancer's.
	APIServerCIDR = "172.30.1.0/24"
	// MaxAPIServers is more than the memory of most machines is enough for.
	MaxAPIServers = 9

	apiServerPort = "6443"
	etcdAddress   = "127.0.0.1:2379"

	// Link is the machine's end of the link, PeerLink the node's.
	Link     = "owm0"
	PeerLink = "node0"

	// Registry is the only address from which the node pulls images. A test may serve a registry there, without TLS.
	Registry = HostIP + ":5000"

	// SandboxImage holds the namespaces of each pod.
	SandboxImage = "localhost/olm-webhook-manager/pause:1"

	kubernetesServiceIP = "10.96.0.1" // the first of ServiceCIDR
	dnsServiceIP        = "10.96.0.10"
	containerdSocket    = "/run/containerd/containerd.sock"
)

// Layout is where a cluster's files are: what it is made of and what it writes.
type Layout struct {
	Bin string // the binaries
	Run string // everything of the running cluster, gone when it is down

	APIServers int // how many there are, at least 1
}

// Kubeconfig is the file that makes a client the cluster's administrator.
func (l Layout) Kubeconfig() string { return filepath.Join(l.Run, "kubeconfig") }

// BinLink leads to the binaries of the running cluster.
func (l Layout) BinLink() string { return filepath.Join(l.Run, "bin") }

// Logs holds a log of each component, and in pods/ of each container.
func (l Layout) Logs() string { return filepath.Join(l.Run, "log") }

// Log is the log of one component.
func (l Layout) Log(component string) string { return filepath.Join(l.Logs(), component+".log") }

// AuditLog has a line of JSON for every request that an API server answered. Each API server has a log of its own.
func (l Layout) AuditLog(number int) string { return l.Log(numbered("audit", number)) }

// APIServer is the URL of one API server, by its number: the first is 1.
func (l Layout) APIServer(number int) string {
	return "https://" + net.JoinHostPort(l.apiServerIP(number), apiServerPort)
}

func (l Layout) apiServerIP(number int) string {
	if l.APIServers == 1 {
		return IP
	}
	return fmt.Sprintf("172.30.1.%d", number)
}

// Control is the Unix socket on which the node takes orders: see APIServerOrders.
func (l Layout) Control() string { return filepath.Join(l.Run, "control.sock") }

// numbered is the name of what each API server has. That of the first has no number.
func numbered(name string, number int) string {
	if number == 1 {
		return name
	}
	return fmt.Sprintf("%s-%d", name, number)
}

// SandboxArchive is the image archive of SandboxImage.
func (l Layout) SandboxArchive() string { return filepath.Join(l.Run, "pause.tar") }

// PKI is a file of the cluster's certificates and keys.
func (l Layout) PKI(name string) string { return filepath.Join(l.Run, "pki", name) }

// Conf is a component's configuration file.
func (l Layout) Conf(name string) string { return filepath.Join(l.Run, "conf", name) }

// Program is one of the binaries.
func (l Layout) Program(name string) string { return filepath.Join(l.Bin, name) }

// ContainerdSocket is containerd's address on the machine: the node has a /run of its own.
func ContainerdSocket(pid int) string {
	return filepath.Join("/proc", strconv.Itoa(pid), "root", containerdSocket)
}

// Args are the arguments of the node's process. The folder distinguishes it from other nodes.
func Args(run string) []string {
	return []string{"olm-webhook-manager-node", "node", run}
}

// IsNode reports whether a command line of /proc is that of the node in the folder.
func IsNode(cmdline []byte, run string) bool {
	return string(cmdline) == strings.Join(Args(run), "\x00")+"\x00"
}

// apiServersFile has the number of API servers.
func (l Layout) apiServersFile() string { return filepath.Join(l.Run, "api-servers") }

// Write records, for Open, what the cluster is made of.
func (l Layout) Write() error {
	if err := os.Symlink(l.Bin, l.BinLink()); err != nil {
		return err
	}
	return os.WriteFile(l.apiServersFile(), []byte(strconv.Itoa(l.APIServers)), 0o644)
}

// Open returns the layout of a cluster that has been started in the folder.
func Open(run string) (Layout, error) {
	l := Layout{Run: run}
	var err error
	if l.Bin, err = os.Readlink(l.BinLink()); err != nil {
		return l, err
	}
	number, err := os.ReadFile(l.apiServersFile())
	if err != nil {
		return l, err
	}
	l.APIServers, err = strconv.Atoi(string(number))
	return l, err
}
