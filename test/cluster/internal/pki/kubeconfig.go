package pki

import (
	"encoding/base64"
	"fmt"
)

// Kubeconfig is the file by which a client finds the API server and proves who it is.
func Kubeconfig(server string, authority []byte, client Pair) []byte {
	encode := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
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
`, server, encode(authority), encode(client.Cert), encode(client.Key))
}
