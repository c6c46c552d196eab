package node

import (
	"embed"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed conf
var confFS embed.FS

// confFiles are the paths of the configuration files, by template.
var confFiles = map[string]string{
	"containerd.toml": "containerd.toml",
	"bridge.conflist": "cni/10-bridge.conflist", // the folder is containerd's, which takes the first file
	"hosts.toml":      "registries/" + Registry + "/hosts.toml",
	"kubelet.yaml":    "kubelet.yaml",
	"kube-proxy.yaml": "kube-proxy.yaml",
	"audit.yaml":      "audit.yaml",
}

func writeConf(l Layout) error {
	templates, err := template.New("").Option("missingkey=error").ParseFS(confFS, "conf/*")
	if err != nil {
		return err
	}
	values := map[string]string{
		"Bin":          l.Bin,
		"Run":          l.Run,
		"IP":           IP,
		"PodCIDR":      PodCIDR,
		"DNSServiceIP": dnsServiceIP,
		"SandboxImage": SandboxImage,
		"Registry":     Registry,
		"Socket":       containerdSocket,
	}
	for name, path := range confFiles {
		path = l.Conf(path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		if err := templates.ExecuteTemplate(file, name, values); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	}
	return nil
}
