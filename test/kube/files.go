package kube

import (
	"crypto/rand"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/client-go/util/cert"
)

const auditPolicy = `# Who did what, one line a request, when it is answered: tests count writes in it.
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  verbs: [delete, deletecollection]
- level: Metadata
`

// files is the folder with everything that the servers read and write.
type files string

func (f files) path(name string) string    { return filepath.Join(string(f), name) }
func (f files) kubeconfig() string         { return f.path("kubeconfig") }
func (f files) audit(port string) AuditLog { return AuditLog(f.path("audit-" + port + ".log")) }

// write creates the certificate of the API server, the token of its only user, an administrator, and the kubeconfig.
func (f files) write(address netip.Addr) error {
	certificate, key, err := cert.GenerateSelfSignedCertKey(address.String(), nil, nil)
	if err != nil {
		return err
	}
	token := rand.Text()
	for name, content := range map[string][]byte{
		"apiserver.crt": certificate,
		"apiserver.key": key,
		"tokens.csv":    fmt.Appendf(nil, "%s,admin,admin,system:masters\n", token),
		"audit.yaml":    []byte(auditPolicy),
	} {
		if err := os.WriteFile(f.path(name), content, 0o600); err != nil {
			return err
		}
	}
	const name = "test"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + address.String() + ":" + apiServerPort, CertificateAuthorityData: certificate}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	return clientcmd.WriteToFile(*config, f.kubeconfig())
}
