package node

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"

	"github.com/olm-webhook-manager/olm-webhook-manager/test/cluster/internal/pki"
)

// WriteCredentials makes all certificates, keys and kubeconfigs of a new cluster.
func WriteCredentials(l Layout) error {
	authority, err := pki.NewAuthority("kubernetes-ca")
	if err != nil {
		return err
	}
	w := credentialWriter{layout: l, authority: authority}
	w.pair("ca", authority.Pair, nil)
	w.server("apiserver", "kube-apiserver", apiServerHosts(l)...)
	w.server("kubelet-serving", "system:node:"+Name, IP, Name)
	w.client("front-proxy", "front-proxy")
	w.client("admin", "admin", "system:masters")
	w.client("kubelet", "system:node:"+Name, "system:nodes")
	w.client("controller-manager", "system:kube-controller-manager")
	w.client("scheduler", "system:kube-scheduler")
	w.client("proxy", "system:kube-proxy")
	private, public, err := pki.SigningKey()
	w.file(l.PKI("service-accounts.key"), private, err)
	w.file(l.PKI("service-accounts.pub"), public, err)
	w.kubeconfig(l.Kubeconfig(), "admin")
	for _, user := range []string{"kubelet", "controller-manager", "scheduler", "proxy"} {
		w.kubeconfig(l.Conf(user+".kubeconfig"), user)
	}
	return w.err
}

// apiServerHosts are the names and addresses that API servers are reached by. Each is reached by those of all.
func apiServerHosts(l Layout) []string {
	hosts := []string{IP, kubernetesServiceIP, "127.0.0.1",
		"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	for number := 1; number <= l.APIServers; number++ {
		hosts = append(hosts, l.apiServerIP(number))
	}
	return hosts
}

// credentialWriter writes files until the first error, which it keeps.
type credentialWriter struct {
	layout    Layout
	authority *pki.Authority
	clients   map[string]pki.Pair
	err       error
}

func (w *credentialWriter) server(name, subject string, hosts ...string) {
	pair, err := w.authority.Server(subject, hosts...)
	w.pair(name, pair, err)
}

func (w *credentialWriter) client(name, user string, groups ...string) {
	pair, err := w.authority.Client(user, groups...)
	w.pair(name, pair, err)
	if w.clients == nil {
		w.clients = map[string]pki.Pair{}
	}
	w.clients[name] = pair
}

func (w *credentialWriter) pair(name string, pair pki.Pair, err error) {
	w.file(w.layout.PKI(name+".crt"), pair.Cert, err)
	w.file(w.layout.PKI(name+".key"), pair.Key, err)
}

func (w *credentialWriter) kubeconfig(path, client string) {
	encode, pair := base64.StdEncoding.EncodeToString, w.clients[client]
	content := fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters:
- name: olm-webhook-manager
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: client
  user:
    client-certificate-data: %s
    client-key-data: %s
contexts:
- name: olm-webhook-manager
  context:
    cluster: olm-webhook-manager
    user: client
current-context: olm-webhook-manager
`, Server, encode(w.authority.Cert), encode(pair.Cert), encode(pair.Key))
	w.file(path, content, nil)
}

func (w *credentialWriter) file(path string, content []byte, err error) {
	if w.err != nil {
		return
	}
	if w.err = err; w.err != nil {
		return
	}
	if w.err = os.MkdirAll(filepath.Dir(path), 0o755); w.err != nil {
		return
	}
	w.err = os.WriteFile(path, content, 0o600)
}
