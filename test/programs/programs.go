// Package programs holds the programs that tests run as processes: the manager, the examples,
// the program of docs/author/hosting.md and cert-manager. They are built by make programs, before any
// test: a build inside a test counts against the test's time limit. A test asks for the path of
// a program with Path.
package programs

import (
	"fmt"
	"os"
	"path/filepath"
)

// The programs.
const (
	Manager      = "olm-webhook-manager"
	Plugin       = "kubectl-webhooks"
	VolumeLabels = "volumelabels"
	PodDefaults  = "poddefaults"
	Conversion   = "crdconversion"
	TeamLabel    = "team-label" // the first program of docs/author/hosting.md
	CertManager  = "cert-manager"
)

type program struct {
	name   string
	module string   // directory of its Go module, relative to the root of the checkout
	pkg    string   // its main package, relative to the module
	inputs []string // files and directories that decide what is built, relative to the root; if shared, to the module
	page   string   // the Markdown page whose first Go program is built, if it is not a package
	shared bool     // kept outside the checkout, because its build takes minutes
}

var tree = []string{"go.mod", "go.sum", "hack/build.sh", "cmd", "pkg", "examples", "docs/author/hosting.md"}

var all = []program{
	{name: Manager, module: ".", pkg: "./cmd/olm-webhook-manager", inputs: tree},
	{name: Plugin, module: ".", pkg: "./cmd/kubectl-webhooks", inputs: tree},
	{name: VolumeLabels, module: "examples", pkg: "./volumelabels", inputs: tree},
	{name: PodDefaults, module: "examples", pkg: "./poddefaults", inputs: tree},
	{name: Conversion, module: "examples", pkg: "./crdconversion", inputs: tree},
	{name: TeamLabel, module: "pkg/hosting", page: "docs/author/hosting.md", inputs: tree},
	{name: CertManager, module: "test/certmanager", pkg: ".", inputs: []string{"."}, shared: true},
}

// Path returns the file of a program that make programs built from the present sources.
func Path(name string) (string, error) {
	root, err := findRoot()
	if err != nil {
		return "", err
	}
	for _, p := range all {
		if p.name != name {
			continue
		}
		dir, err := p.dir(root)
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			return "", fmt.Errorf("%s is not built from the present sources (%w): run make programs", name, err)
		}
		return path, nil
	}
	return "", fmt.Errorf("test/programs has no program %s", name)
}

func (p program) built(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, p.name))
	return err == nil
}
