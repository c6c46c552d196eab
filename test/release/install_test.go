package release

import "testing"

// The pages whose commands are run.
const (
	readme     = "README.md"
	install    = "docs/admin/install.md"
	uninstall  = "docs/admin/uninstall.md"
	firstSteps = "docs/author/first-webhook.md"
)

// An administrator follows docs/admin/install.md, with kubectl or with Helm, and then docs/admin/uninstall.md.
func TestInstallation(t *testing.T) {
	for with, uninstallation := range map[string]string{"With kubectl": "Installed with kubectl", "With Helm": "Installed with Helm"} {
		t.Run(with, func(t *testing.T) {
			r, c := open(t), newCluster(t)
			s := newShell(t, r, c)
			for _, section := range []string{"Download", "Images", "The command", with, "Check the installation", "Try an example"} {
				s.follow(commandsOf(t, install, section))
			}
			s.follow(commandsOf(t, uninstall, uninstallation))
			c.becomesEmpty()
		})
	}
}

// A new user follows README.md, and then writes an operator by docs/author/first-webhook.md.
func TestReadme(t *testing.T) {
	r, c := open(t), newCluster(t)
	nodesGetImages(t, r, c)
	s := newShell(t, r, c)
	s.follow(without(t, commandsOf(t, readme, "Install"), "helm "))
	writesOperator(t, r, c)
}

// The same with the other command of README.md.
func TestReadmeWithHelm(t *testing.T) {
	r, c := open(t), newCluster(t)
	nodesGetImages(t, r, c)
	newShell(t, r, c).follow(without(t, commandsOf(t, readme, "Install"), "kubectl apply --server-side "))
}

// nodesGetImages imports the images: the nodes of the cluster cannot reach a registry.
func nodesGetImages(t *testing.T, r *release, c *cluster) {
	t.Helper()
	s := newShell(t, r, c)
	s.follow(commandsOf(t, install, "Download"))
	s.follow(commandsOf(t, install, "Images"))
}
